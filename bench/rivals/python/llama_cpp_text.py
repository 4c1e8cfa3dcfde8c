"""A text in llama.cpp: its tokens, its perplexity, and the logits of its first window.

Perplexity as llama.cpp's own program has it: whole windows, the second half of each scored.
"""

import argparse
import json
import pathlib
import sys

import numpy

from llama_cpp_model import Model

sys.path.append(str(pathlib.Path(__file__).parents[3] / "scripts" / "reference"))
import measures  # noqa: E402  (needs the path above)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-repack", action="store_true", help="weights as the file has them")
    parser.add_argument("--ids", type=pathlib.Path, help="where to write the tokens, as JSON")
    parser.add_argument("--window", type=int, default=512, help="of the perplexity, in tokens")
    parser.add_argument("--logits", help="where to write the logits, float32 .npy")
    parser.add_argument("--logits-window", type=int, default=1024, help="their window, in tokens")
    arguments = parser.parse_args()

    model = Model(arguments.model, threads=arguments.threads, repack=not arguments.no_repack)
    ids = model.tokenize(arguments.text.read_text(encoding="utf-8"))
    print(f"tokens     {len(ids)}")
    if arguments.ids:
        arguments.ids.write_text(json.dumps(ids))
    if arguments.logits:
        numpy.save(arguments.logits, model.logits(ids[: arguments.logits_window]))
    found = measures.perplexity(model.logits, ids, arguments.window, model.bos())
    print(f"perplexity {found:.5f}")


if __name__ == "__main__":
    main()
