"""Matrix products and attention of PyTorch on a CUDA device, named as `device_products` names them.

Lines `name,microseconds,teraflops`; medians of seven batches that end with a synchronization. An
argument narrows the run to the names that contain it. f32 is f32: TF32 stays off.
"""

import statistics
import sys
import time

import torch

BATCH_SECONDS = 0.02
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SIZES = [
    (1024, 1024, 1024),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (1000, 600, 520),
    (1, 4096, 4096),
]


def seconds(call):
    def batch(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    batch(3)
    calls = max(1, min(2000, int(BATCH_SECONDS * 3 / batch(3))))
    return statistics.median(batch(calls) for _ in range(7)) / calls


def random(rows, columns, dtype):
    return torch.randn(rows, columns, device="cuda").to(dtype)


def products():
    for dtype_name, dtype in DTYPES.items():
        for m, n, k in SIZES:
            for turned in ("", "_rhsT", "_lhsT"):
                if turned and m > 4096:
                    continue
                name = f"matmul_{dtype_name}_{m}x{n}x{k}{turned}"
                lhs = (lambda: random(k, m, dtype).T) if turned == "_lhsT" else (
                    lambda: random(m, k, dtype))
                rhs = (lambda: random(n, k, dtype).T) if turned == "_rhsT" else (
                    lambda: random(k, n, dtype))
                yield name, 2 * m * n * k, lhs, rhs


ATTENTIONS = [
    (9, 3, 32, 32, 64),
    (9, 3, 512, 512, 64),
    (9, 3, 2048, 2048, 64),
    (32, 8, 1024, 1024, 128),
    (4, 1, 512, 512, 256),
    (9, 3, 1, 512, 64),
    (32, 8, 1, 8192, 128),
]


def attentions():
    for dtype_name in ("f16", "bf16"):
        dtype = DTYPES[dtype_name]
        for heads, kv_heads, q_len, kv_len, head_dim in ATTENTIONS:
            shape = f"{heads}x{kv_heads}x{q_len}x{kv_len}x{head_dim}"
            q, k, v = (
                torch.randn(1, count, length, head_dim, device="cuda").to(dtype)
                for count, length in ((heads, q_len), (kv_heads, kv_len), (kv_heads, kv_len))
            )
            work = 4 * heads * head_dim * (q_len * kv_len - q_len * (q_len - 1) // 2)
            # One query sees all keys; PyTorch's causal mask would show it the first alone.
            yield f"attention_{dtype_name}_{dtype_name}_{shape}", work, (
                lambda q=q, k=k, v=v: torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=q.shape[2] > 1, enable_gqa=True))


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    torch.backends.cuda.matmul.allow_tf32 = False
    print("name,microseconds,teraflops")
    for name, flops, lhs, rhs in products():
        if wanted not in name:
            continue
        lhs, rhs = lhs(), rhs()
        time_of_one = seconds(lambda: lhs @ rhs)
        print(f"{name},{time_of_one * 1e6:.2f},{flops / time_of_one / 1e12:.2f}", flush=True)
        del lhs, rhs
    for name, flops, call in attentions():
        if wanted not in name:
            continue
        time_of_one = seconds(call)
        print(f"{name},{time_of_one * 1e6:.2f},{flops / time_of_one / 1e12:.2f}", flush=True)


if __name__ == "__main__":
    main()
