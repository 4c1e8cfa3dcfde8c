"""How near engines' logits and greedy tokens come to f32: those that compat/transformers writes.

    python3 greedy.py MODEL.gguf NAME=quantized_llama.safetensors ...

Prints, of the logits after the prompt, the largest and the root mean square difference and the
Kullback-Leibler divergence from PyTorch's in f32 on the dequantized weights, and how many greedy
tokens are the same from the first on.
"""

import re
import sys
from pathlib import Path

import numpy
import safetensors.numpy
import torch

import gguf_model
from measures import log_softmax

SOURCE = Path(__file__).parents[2] / "compat/transformers/models/real.rs"


def prompt():
    found = re.search(r"PROMPT: &\[u32\] = &\[(.*?)\];", SOURCE.read_text(), re.DOTALL)
    return [int(token) for token in found.group(1).split(",") if token.strip()]


@torch.no_grad()
def greedy(model, tokens, count):
    """The logits after the tokens, the next tokens, and by how much each beat the second best."""
    start, first, leads = len(tokens), None, []
    for _ in range(count):
        logits = model(torch.tensor([tokens])).logits[0, -1]
        first = logits if first is None else first
        best = torch.topk(logits, 2)
        leads.append(float(best.values[0] - best.values[1]))
        tokens = tokens + [int(best.indices[0])]
    return first.double().numpy(), tokens[start:], leads


def main():
    model, _ = gguf_model.load(sys.argv[1])
    logits, tokens, leads = greedy(model, prompt(), 40)
    right = log_softmax(logits)
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        found = safetensors.numpy.load_file(path)
        own = found["logits"].reshape(-1).astype(numpy.float64)
        off, own_log = own - logits, log_softmax(own)
        divergence = (numpy.exp(right) * (right - own_log)).sum()
        pairs = zip(tokens, found["tokens"].reshape(-1).tolist())
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), len(tokens))
        lead = f", where the best leads by {leads[same]:.3f}" if same < len(tokens) else ""
        print(
            f"{name}: largest {abs(off).max():.3f}, rms {(off**2).mean() ** 0.5:.3f}, "
            f"divergence {divergence:.2e}; {same} tokens the same{lead}"
        )


if __name__ == "__main__":
    main()
