"""Makes the golden files of tests/roundtrip with numpy and PyTorch.

    pip install numpy torch
    python crates/formats/tests/golden/make_golden.py

stored.npz    an array of each dtype, 2 × 3, with the values 0 to 5; and scalar and empty arrays
deflated.npz  the same, compressed
order.npz     `fortran`: column-major; `big`: big-endian i4; `both`: column-major, big-endian f8
state.pth     a dictionary of tensors as torch.save writes it: views, a parameter, dtypes
nested.pth    {"epoch": 3, "model": {"w": …}}
"""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]


def main() -> None:
    arrays = {name: np.arange(6).reshape(2, 3).astype(name) for name in DTYPES}
    arrays["scalar"] = np.float32(7.5)
    arrays["empty"] = np.zeros((0, 4), np.float32)
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    values = np.arange(6).reshape(2, 3)
    np.savez(
        HERE / "order.npz",
        fortran=np.asfortranarray(values.astype("f4")),
        big=values.astype(">i4"),
        both=np.asfortranarray(values.astype(">f8")),
    )
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    state = OrderedDict(
        whole=base,
        transposed=base.t(),
        columns=base[:, 1:3],
        last_row=base[2],
        expanded=torch.tensor([5.0]).expand(1000, 1000),
        parameter=torch.nn.Parameter(torch.tensor([1.5, -2.5])),
        scalar=torch.tensor(3, dtype=torch.int64),
        empty=torch.zeros(0, 3),
        complex=torch.zeros(2, dtype=torch.complex64),
    )
    for name in ["bool", "uint8", "int8", "int16", "int32", "float16", "bfloat16", "float64"]:
        state[name] = torch.tensor([0, 1, 1]).to(getattr(torch, name))
    for name in ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]:
        state[name] = torch.tensor([0.0, 1.0, 2.0]).to(getattr(torch, name))
    torch.save(state, HERE / "state.pth")
    torch.save({"epoch": 3, "model": {"w": base[1:]}, "name": "tiny"}, HERE / "nested.pth")


if __name__ == "__main__":
    main()
