"""Makes the golden files of tests/golden.rs with the `gguf` package, the formats' reference.

    pip install gguf numpy
    python crates/quant/tests/golden/make_golden.py

values.f32          4,096 values like weights, with an outlier here and there, and a block of zeros
pack_<TYPE>.bin     the bytes that gguf.quants.quantize makes of them, where it can pack the type
blocks_<TYPE>.bin   blocks of random bits, with scales of sane size
unpack_<TYPE>.f32   the values that gguf.quants.dequantize makes of those blocks
src/formats/*/grid.bin   the codebooks, a byte for each value
"""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import quants

HERE = Path(__file__).parent
PACKED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16", "F16", "MXFP4", "TQ1_0", "TQ2_0"]
# Name: bytes in a block, and where its f16 scales start.
BLOCKS = {
    "Q4_0": (18, [0]),
    "Q4_1": (20, [0, 2]),
    "Q5_0": (22, [0]),
    "Q5_1": (24, [0, 2]),
    "Q8_0": (34, [0]),
    "Q2_K": (84, [80, 82]),
    "Q3_K": (110, [108]),
    "Q4_K": (144, [0, 2]),
    "Q5_K": (176, [0, 2]),
    "Q6_K": (210, [208]),
    "IQ4_NL": (18, [0]),
    "IQ4_XS": (136, [0]),
    "MXFP4": (17, []),
    "TQ1_0": (54, [52]),
    "TQ2_0": (66, [64]),
    "IQ2_XXS": (66, [0]),
    "IQ2_XS": (74, [0]),
    "IQ2_S": (82, [0]),
    "IQ3_XXS": (98, [0]),
    "IQ3_S": (110, [0]),
    "IQ1_S": (50, [0]),
    "IQ1_M": (56, []),
}
# The codebooks of these formats are data that belong to the format.
GRIDS = ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"]


def main() -> None:
    random = np.random.default_rng(2026)
    values = (random.standard_normal(4096) * 0.04).astype(np.float32)
    values[::97] *= 8
    values[512:576] = 0
    values.astype("<f4").tofile(HERE / "values.f32")
    for name in PACKED:
        quants.quantize(values, Type[name]).tofile(HERE / f"pack_{name}.bin")
    for name, (size, halves) in BLOCKS.items():
        count = 16 if size < 40 else 4
        blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
        for at in halves:
            scale = (random.standard_normal((count, 1)) * 0.05).astype("<f2")
            blocks[:, at : at + 2] = scale.view(np.uint8)
        if name == "MXFP4":
            blocks[:, 0] = random.integers(110, 130, count)
        if name == "TQ1_0":
            # Bytes that stand for no five digits are never written.
            blocks[:, :52] = (blocks[:, :52].astype(np.uint16) * 243 // 256 * 256 + 242) // 243
        if name == "IQ1_M":
            # The scale is spread over the highest nibbles of the last four words: 0x2xxx.
            words = blocks[:, 48:].view("<u2")
            words[:, 3] = words[:, 3] & 0x0FFF | 0x2000
        blocks.tofile(HERE / f"blocks_{name}.bin")
        out = quants.dequantize(blocks.reshape(-1), Type[name])
        out.astype("<f4").tofile(HERE / f"unpack_{name}.f32")
    for name in GRIDS:
        kind = getattr(quants, name)
        kind.init_grid()
        folder = HERE.parent.parent / "src" / "formats" / name.lower()
        kind.grid.reshape(-1).astype(np.int8).tofile(folder / "grid.bin")


if __name__ == "__main__":
    main()
