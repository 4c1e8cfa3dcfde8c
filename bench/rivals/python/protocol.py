"""What the Python rivals share: arguments, samples, and the values that every rival uses."""

import argparse
import math
import time

import numpy

SAMPLE_US_MIN = 2_000.0
CALLS_MAX = 1_000


def read_arguments(description, model=False):
    """The command line of a rival; README.md says what the options mean."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--tsv", action="store_true", help="accepted; the only form there is")
    if model:
        parser.add_argument("model", help="a GGUF file")
    return parser


def values(*shape):
    """Values that look random, uniform in [-1, 1): the same ones in every rival."""
    bits = numpy.arange(math.prod(shape), dtype=numpy.uint32) * numpy.uint32(0x9E3779B9)
    bits = (bits ^ (bits >> 16)) * numpy.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * numpy.uint32(0xC2B2AE35)
    bits ^= bits >> 16
    mantissa = (bits >> 8).astype(numpy.float32)
    return (mantissa / numpy.float32(1 << 23) - numpy.float32(1)).reshape(shape)


def microseconds(op, samples):
    """One warm-up, then the median over samples of at least SAMPLE_US_MIN each."""
    warm_up = min(_time_us(op, 1), _time_us(op, 1))
    calls = min(max(math.ceil(SAMPLE_US_MIN / warm_up), 1), CALLS_MAX)
    return sorted(_time_us(op, calls) / calls for _ in range(samples))[samples // 2]


def _time_us(op, calls):
    start = time.perf_counter()
    for _ in range(calls):
        op()
    return (time.perf_counter() - start) * 1e6


def prompt(tokens):
    """A prompt of the length: the same ids in every rival."""
    return [1000 + index * 7919 % 40_000 for index in range(tokens)]
