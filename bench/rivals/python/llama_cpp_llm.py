"""A model from a GGUF file in llama.cpp: load, prefill and decode, in microseconds."""

import time

import protocol
from llama_cpp_model import Model

QUESTION = [1, 4093, 198, 1780, 314, 36828, 47, 2, 198, 1, 520, 9531, 198]
ANSWER_TOKENS = 40
DECODE_TOKENS = 128
DECODE_PROMPT = 32


def prefill_us(model, tokens):
    model.forget()
    ids = protocol.prompt(tokens)
    start = time.perf_counter()
    model.next_token(ids)
    return (time.perf_counter() - start) * 1e6


def decode_us(model):
    """Microseconds a token, greedy, after a prompt of DECODE_PROMPT tokens."""
    model.forget()
    token = model.next_token(protocol.prompt(DECODE_PROMPT))
    start = time.perf_counter()
    for _ in range(DECODE_TOKENS):
        token = model.next_token([token])
    return (time.perf_counter() - start) * 1e6 / DECODE_TOKENS


def greedy(model, prompt, count):
    model.forget()
    answer = [model.next_token(prompt)]
    while len(answer) < count:
        answer.append(model.next_token(answer[-1:]))
    return answer


def peak_memory():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(line.split(":")[1].strip() for line in status if line.startswith("VmHWM"))


def main():
    parser = protocol.read_arguments(__doc__, model=True)
    parser.add_argument("--no-repack", action="store_true", help="weights as the file has them")
    arguments = parser.parse_args()

    def wants(name, by_default=True):
        return name in arguments.only if arguments.only else by_default

    def sampled(time_us):
        time_us()
        samples = arguments.samples or 3
        return sorted(time_us() for _ in range(samples))[samples // 2]

    start = time.perf_counter()
    model = Model(arguments.model, threads=arguments.threads, repack=not arguments.no_repack)
    load_us = (time.perf_counter() - start) * 1e6
    if wants("load"):
        print(f"load\t{load_us:.1f}", flush=True)
    for tokens, by_default in ((32, True), (512, True), (2048, False)):
        if wants(f"prefill_{tokens}", by_default):
            microseconds = sampled(lambda tokens=tokens: prefill_us(model, tokens))
            print(f"prefill_{tokens}\t{microseconds:.1f}", flush=True)
    if wants("decode_128"):
        print(f"decode_128\t{sampled(lambda: decode_us(model)):.1f}", flush=True)
    if wants("answer"):
        print("# answer", *greedy(model, QUESTION, ANSWER_TOKENS))
    print("# peak memory", peak_memory())


if __name__ == "__main__":
    main()
