"""Chains of dependent additions of PyTorch on a CUDA device, as `tallow bench queue` times them.

Lines `name,milliseconds`: from the first call to the end of a synchronization, median of nine.
"""

import statistics
import time

import torch


def chain(adds, count):
    one = torch.ones(count, device="cuda")

    def run():
        x = torch.zeros(count, device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(adds):
            x = x + one
        torch.cuda.synchronize()
        elapsed = time.perf_counter() - start
        assert bool((x == adds).all()), "a wrong sum"
        return elapsed

    run()
    return statistics.median(run() for _ in range(9))


if __name__ == "__main__":
    print("name,milliseconds")
    for adds, count in [(5000, 1024), (500, 1 << 20)]:
        print(f"add_{count}_x_{adds},{chain(adds, count) * 1e3:.2f}", flush=True)
