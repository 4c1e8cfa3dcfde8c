"""The reference for a GGUF file: PyTorch in f32 with the file's dequantized weights.

Writes the golden file (token ids, greedy answer, perplexity, the best tokens of some positions)
and, with --logits, the logits of every position of the text's first window as float32 .npy.
"""

import argparse
import hashlib
import json
import pathlib

import numpy
import torch
import transformers

import gguf_model
import measures

TEXT = pathlib.Path(__file__).parent / "declaration.txt"
WINDOW = 1024
PERPLEXITY_WINDOW = 512
PROMPT = "<|im_start|>user\nWhat is Rust?<|im_end|>\n<|im_start|>assistant\n"
PROMPT_IDS = [1, 4093, 198, 1780, 314, 36828, 47, 2, 198, 1, 520, 9531, 198]
ANSWER_TOKENS = 40
SHOWN_POSITIONS = (0, 1, 100, 511, 512, 700, 1023)
SHOWN_TOKENS = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("golden", type=pathlib.Path, help="the golden file, written anew")
    parser.add_argument("--ids", required=True, type=pathlib.Path, help="the text's tokens, JSON")
    parser.add_argument("--logits", help="where to write the window's logits")
    arguments = parser.parse_args()

    ids = json.loads(arguments.ids.read_text())
    model, reader = gguf_model.load(arguments.model)
    with torch.inference_mode():
        logits = window_logits(model, ids[:WINDOW])
        golden = {
            "made_by": f"torch {torch.__version__}, transformers {transformers.__version__}, f32",
            "model_sha256": sha256(arguments.model),
            "text": TEXT.name,
            "text_sha256": sha256(TEXT),
            "window": WINDOW,
            "mean_nll": measures.negative_log_likelihood(logits[:-1], ids[1:WINDOW]).mean(),
            "perplexity_window": PERPLEXITY_WINDOW,
            "perplexity": measures.perplexity(
                lambda window: window_logits(model, window), ids, PERPLEXITY_WINDOW, bos(reader)
            ),
            "positions": [shown(logits, position) for position in SHOWN_POSITIONS],
        }
        if gguf_model.field(reader, "general.architecture") == "llama":
            golden["prompt"] = PROMPT
            golden["prompt_ids"] = PROMPT_IDS
            golden["greedy_ids"] = greedy(model, PROMPT_IDS)
        golden["text_ids"] = ids
    if arguments.logits:
        numpy.save(arguments.logits, logits)
    arguments.golden.write_text(measures.as_json(golden))


def window_logits(model, ids):
    """The logits of every position, [positions, vocabulary]."""
    return model(torch.tensor([ids])).logits[0].float().numpy()


def greedy(model, prompt):
    """The likeliest token each time, ANSWER_TOKENS of them."""
    answer, new, cache = [], prompt, None
    while len(answer) < ANSWER_TOKENS:
        found = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        cache = found.past_key_values
        new = [int(found.logits[0, -1].argmax())]
        answer += new
    return answer


def shown(logits, position):
    """The best tokens of a position and their natural log-probabilities."""
    log_probabilities = measures.log_softmax(logits[position])
    best = numpy.argsort(-log_probabilities, kind="stable")[:SHOWN_TOKENS]
    return {
        "position": position,
        "ids": best.tolist(),
        "log_probabilities": [round(float(log_probabilities[token]), 5) for token in best],
    }


def bos(reader):
    """The token that the file wants in front of every text, if any."""
    if gguf_model.field(reader, "tokenizer.ggml.add_bos_token", False):
        return gguf_model.field(reader, "tokenizer.ggml.bos_token_id")
    return None


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
