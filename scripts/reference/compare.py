"""How far an engine's logits are from the reference's.

`compare.py REFERENCE.npy LOGITS`: LOGITS is a .npy file, or raw little-endian float32 of the same
positions and vocabulary (`tallow perplexity --dump-logits`). With --golden the exit code says
whether the mean divergence is at most 1.2 times llama.cpp's; --set-llama-cpp says that these are
llama.cpp's logits and writes what was found into the golden file.
"""

import argparse
import json
import pathlib
import sys

import numpy

import measures

FACTOR_MAX = 1.2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reference", help="float32 .npy, [positions, vocabulary]")
    parser.add_argument("logits")
    parser.add_argument("--golden", type=pathlib.Path, help="the model's golden file")
    parser.add_argument("--set-llama-cpp", metavar="VERSION")
    parser.add_argument("--perplexity", type=float, help="llama.cpp's, for --set-llama-cpp")
    arguments = parser.parse_args()

    reference = numpy.load(arguments.reference, mmap_mode="r")
    logits = read(arguments.logits, reference.shape)
    divergences = measures.divergences(reference, logits)
    found = {
        "mean_kl": float(divergences.mean()),
        "median_kl": float(numpy.median(divergences)),
        "quantile_99_kl": float(numpy.quantile(divergences, 0.99)),
        "max_kl": float(divergences.max()),
        "same_best": float((reference.argmax(-1) == logits.argmax(-1)).mean()),
    }
    for name, value in found.items():
        print(f"{name:15}{value:.6g}")
    if arguments.golden is None:
        return 0
    golden = json.loads(arguments.golden.read_text())
    if arguments.set_llama_cpp:
        version = {"version": arguments.set_llama_cpp}
        golden["llama_cpp"] = version | found | {"perplexity": arguments.perplexity}
        golden["text_ids"] = golden.pop("text_ids")
        arguments.golden.write_text(measures.as_json(golden))
        return 0
    ratio = found["mean_kl"] / golden["llama_cpp"]["mean_kl"]
    print(f"{'of llama.cpp':15}{ratio:.3f} (at most {FACTOR_MAX})")
    return 0 if ratio <= FACTOR_MAX else 1


def read(path, shape):
    """The logits, of the shape of the reference's."""
    if path.endswith(".npy"):
        logits = numpy.load(path, mmap_mode="r")
    else:
        logits = numpy.memmap(path, dtype="<f4", mode="r")
    if logits.size != shape[0] * shape[1]:
        raise SystemExit(f"{path}: {logits.size} values; {shape[0]} x {shape[1]} expected")
    return logits.reshape(shape)


if __name__ == "__main__":
    sys.exit(main())
