"""Measures on logits: log-likelihood, perplexity, Kullback-Leibler divergence, all in f64."""

import json

import numpy


def log_softmax(logits):
    """Natural log-probabilities over the last axis."""
    shifted = logits.astype(numpy.float64)
    shifted -= shifted.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True))


def negative_log_likelihood(logits, targets):
    """Of each target under its position's logits, in nats."""
    return numpy.array(
        [-log_softmax(row)[target] for row, target in zip(logits, targets, strict=True)]
    )


def perplexity(window_logits, ids, window, bos=None):
    """As llama.cpp defines it: whole windows, of which only the second half is scored.

    The first token of every window is replaced with `bos` where there is one. An unfinished last
    window is left out.
    """
    half = window // 2
    losses = []
    for start in range(0, len(ids) - window + 1, window):
        piece = list(ids[start : start + window])
        shown = piece if bos is None else [bos, *piece[1:]]
        logits = window_logits(shown)
        losses.append(negative_log_likelihood(logits[half:-1], piece[half + 1 :]))
    return float(numpy.exp(numpy.concatenate(losses).mean()))


def divergences(reference, other):
    """Kullback-Leibler divergence of `other` from `reference` at each position, in nats."""
    found = []
    for reference_row, other_row in zip(reference, other, strict=True):
        expected, actual = log_softmax(reference_row), log_softmax(other_row)
        found.append((numpy.exp(expected) * (expected - actual)).sum())
    return numpy.array(found)


def as_json(golden):
    """One line a field, so that a change shows where it is."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
