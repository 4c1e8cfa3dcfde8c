"""Operations that the memory of a CUDA device bounds, of PyTorch, named as `device_elements` does.

Lines `name,microseconds,gigabytes_per_second`; medians of seven batches that end with a
synchronization.
"""

import torch
from torch_device import seconds

ROWS, COLUMNS = 16384, 4096
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def main():
    print("name,microseconds,gigabytes_per_second")
    for name, dtype in DTYPES.items():
        x, y = (torch.rand(ROWS, COLUMNS, device="cuda").add(0.5).to(dtype) for _ in range(2))
        weight = torch.ones(COLUMNS, device="cuda", dtype=dtype)
        other = torch.float16 if dtype == torch.float32 else torch.float32
        size = x.element_size()
        other_size = torch.empty(0, dtype=other).element_size()
        functional = torch.nn.functional
        runs = [
            ("add", 3 * size, lambda: x + y),
            ("mul", 3 * size, lambda: x * y),
            ("exp", 2 * size, lambda: x.exp()),
            ("gelu_erf", 2 * size, lambda: functional.gelu(x)),
            ("cast", size + other_size, lambda: x.to(other)),
            ("sum_rows", size, lambda: x.sum(1)),
            ("softmax", 2 * size, lambda: x.softmax(1)),
            ("rms_norm", 2 * size, lambda: functional.rms_norm(x, (COLUMNS,), weight, 1e-5)),
        ]
        for what, size_of_all, run in runs:
            time = seconds(run)
            rate = size_of_all * ROWS * COLUMNS / time / 1e9
            print(f"{what}_{name},{time * 1e6:.2f},{rate:.0f}", flush=True)


if __name__ == "__main__":
    main()
