"""The ops of bench/rivals in PyTorch: one line each, `name<TAB>microseconds`."""

import torch
from torch.nn import functional

import protocol

TYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
}


def tensor(*shape, dtype=torch.float32):
    return torch.from_numpy(protocol.values(*shape)).to(dtype)


def products():
    """Name and maker of every matrix product; a maker gives the function to time."""

    def square(size, dtype):
        matrix = tensor(size, size, dtype=dtype)
        return lambda: matrix @ matrix

    def product(lhs, rhs):
        return lambda: lhs @ rhs

    for name, dtype in TYPES.items():
        for size in (256, 1024, 2048):
            yield f"matmul_{name}_{size}", lambda size=size, dtype=dtype: square(size, dtype)
    yield "bmm_f32_32x128x64x128", lambda: product(tensor(32, 128, 64), tensor(32, 64, 128))
    for name in ("f32", "bf16"):
        dtype = TYPES[name]
        yield (
            f"gemv_{name}_1x2048x2048",
            lambda dtype=dtype: product(
                tensor(1, 2048, dtype=dtype), tensor(2048, 2048, dtype=dtype)
            ),
        )
    yield "gemv_f32_1x2048x2048_rhsT", lambda: product(tensor(1, 2048), tensor(2048, 2048).T)


def elementwise():
    def unary(op):
        x = tensor(2048, 2048)
        return lambda: op(x)

    def binary(op):
        lhs, rhs = tensor(2048, 2048), tensor(2048, 2048).T.contiguous()
        return lambda: op(lhs, rhs)

    def sqrt():
        x = tensor(2048, 2048).abs()
        return lambda: x.sqrt()

    def broadcast(*shape):
        lhs, rhs = tensor(2048, 2048), tensor(*shape)
        return lambda: lhs + rhs

    yield "exp_4M", lambda: unary(torch.exp)
    yield "add_4M", lambda: binary(torch.add)
    yield "mul_4M", lambda: binary(torch.mul)
    yield "sqrt_4M", sqrt
    yield "gelu_4M", lambda: unary(lambda x: functional.gelu(x, approximate="tanh"))
    yield "gelu_erf_4M", lambda: unary(functional.gelu)
    yield "silu_4M", lambda: unary(functional.silu)
    yield "tanh_4M", lambda: unary(torch.tanh)
    yield "relu_4M", lambda: unary(torch.relu)
    yield "affine_4M", lambda: unary(lambda x: x * 2.0 + 1.0)
    yield "gt_4M", lambda: binary(torch.gt)
    yield "broadcast_add_2048x2048+2048", lambda: broadcast(1, 2048)
    yield "broadcast_add_2048x2048+2048x1", lambda: broadcast(2048, 1)


def casts():
    def cast(source, target):
        x = tensor(2048, 2048, dtype=source)
        return lambda: x.to(target)

    for name in ("f16", "bf16"):
        dtype = TYPES[name]
        yield f"to_{name}_4M", lambda dtype=dtype: cast(torch.float32, dtype)
    for name in ("f16", "bf16"):
        dtype = TYPES[name]
        yield f"{name}_to_f32_4M", lambda dtype=dtype: cast(dtype, torch.float32)


def reductions():
    def reduce(op):
        x = tensor(2048, 2048)
        return lambda: op(x)

    yield "sum_all_4M", lambda: reduce(torch.sum)
    yield "sum_lastdim_2048x2048", lambda: reduce(lambda x: x.sum(-1))
    yield "sum_dim0_2048x2048", lambda: reduce(lambda x: x.sum(0))
    yield "max_lastdim_2048x2048", lambda: reduce(lambda x: x.amax(-1))
    yield "max_all_4M", lambda: reduce(torch.max)
    yield "argmax_lastdim_2048x2048", lambda: reduce(lambda x: x.argmax(-1))


def rows():
    def softmax():
        x = tensor(2048, 2048)
        return lambda: functional.softmax(x, -1)

    def rms_norm():
        x, weight = tensor(2048, 1024), tensor(1024)
        return lambda: functional.rms_norm(x, (1024,), weight, 1e-5)

    def layer_norm():
        x, weight, bias = tensor(2048, 1024), tensor(1024), tensor(1024)
        return lambda: functional.layer_norm(x, (1024,), weight, bias, 1e-5)

    def sort():
        x = tensor(1024, 1024)
        return lambda: x.sort(-1)

    yield "softmax_last_dim_2048x2048", softmax
    yield "rms_norm_2048x1024", rms_norm
    yield "layer_norm_2048x1024", layer_norm
    yield "sort_last_dim_1024x1024", sort


def movement():
    def transpose():
        x = tensor(2048, 2048).T
        return lambda: x.contiguous()

    def index_select():
        table = tensor(49152, 576)
        rows = torch.tensor([index * 7919 % 49152 for index in range(2048)], dtype=torch.int32)
        return lambda: table.index_select(0, rows)

    def cat(dim):
        first, second = tensor(1024, 2048), tensor(1024, 2048)
        return lambda: torch.cat((first, second), dim)

    yield "transpose_contiguous_2048x2048", transpose
    yield "index_select_2048_of_49152x576", index_select
    yield "cat_dim0_2x1024x2048", lambda: cat(0)
    yield "cat_dim1_2x1024x2048", lambda: cat(1)


def images():
    convolutions = [
        ("conv2d_1x64x56x56_64x3x3p1", (1, 64, 56, 56), (64, 64, 3, 3), (1, 1, 1)),
        ("conv2d_1x3x224x224_64x7x7s2p3", (1, 3, 224, 224), (64, 3, 7, 7), (3, 2, 1)),
        ("conv2d_1x256x56x56_64x1x1", (1, 256, 56, 56), (64, 256, 1, 1), (0, 1, 1)),
        ("conv2d_1x512x7x7_512x3x3p1", (1, 512, 7, 7), (512, 512, 3, 3), (1, 1, 1)),
        ("conv2d_1x96x56x56_96x3x3p1g96", (1, 96, 56, 56), (96, 1, 3, 3), (1, 1, 96)),
        ("conv1d_1x80x3000_512x3p1", (1, 80, 3000), (512, 80, 3), (1, 1, 1)),
        ("conv1d_1x512x3000_512x3s2p1", (1, 512, 3000), (512, 512, 3), (1, 2, 1)),
        ("conv1d_1x512x1500_512x3p1", (1, 512, 1500), (512, 512, 3), (1, 1, 1)),
    ]

    def convolution(shape, kernel_shape, padding, stride, groups):
        x, kernel = tensor(*shape), tensor(*kernel_shape)
        call = functional.conv1d if len(shape) == 3 else functional.conv2d
        return lambda: call(x, kernel, padding=padding, stride=stride, groups=groups)

    for name, shape, kernel_shape, numbers in convolutions:
        yield name, lambda s=shape, k=kernel_shape, n=numbers: convolution(s, k, *n)

    def transposed1d():
        x, kernel = tensor(1, 512, 100), tensor(512, 256, 16)
        return lambda: functional.conv_transpose1d(x, kernel, padding=4, stride=8)

    def transposed2d():
        x, kernel = tensor(1, 64, 56, 56), tensor(64, 64, 2, 2)
        return lambda: functional.conv_transpose2d(x, kernel, stride=2)

    yield "conv_transpose1d_1x512x100_256x16s8p4", transposed1d
    yield "conv_transpose2d_1x64x56x56_64x2x2s2", transposed2d

    def image(call):
        x = tensor(1, 64, 56, 56)
        return lambda: call(x)

    for name, call in [
        ("max_pool2d_1x64x56x56_2x2", lambda x: functional.max_pool2d(x, 2)),
        ("max_pool2d_1x64x56x56_3x3s2", lambda x: functional.max_pool2d(x, 3, 2)),
        ("avg_pool2d_1x64x56x56_2x2", lambda x: functional.avg_pool2d(x, 2)),
        (
            "upsample_nearest2d_1x64x56x56_x2",
            lambda x: functional.interpolate(x, size=(112, 112)),
        ),
        (
            "upsample_bilinear2d_1x64x56x56_x2",
            lambda x: functional.interpolate(x, size=(112, 112), mode="bilinear"),
        ),
    ]:
        yield name, lambda call=call: image(call)


def attention():
    def inputs(queries, keys):
        return tensor(1, 9, queries, 64), tensor(1, 9, keys, 64), tensor(1, 9, keys, 64)

    def naive(queries, keys):
        query, key, value = inputs(queries, keys)
        return lambda: functional.softmax(query @ key.mT * 0.125, -1) @ value

    def fused(queries, keys, causal):
        query, key, value = inputs(queries, keys)
        return lambda: functional.scaled_dot_product_attention(
            query, key, value, is_causal=causal
        )

    yield "attn_1x9x512x64_naive", lambda: naive(512, 512)
    yield "attn_decode_kv2048_naive", lambda: naive(1, 2048)
    yield "sdpa_1x9x512x64", lambda: fused(512, 512, False)
    yield "sdpa_causal_1x9x512x64", lambda: fused(512, 512, True)
    yield "sdpa_decode_kv2048", lambda: fused(1, 2048, False)


FAMILIES = (products, elementwise, casts, reductions, rows, movement, images, attention)


def main():
    arguments = protocol.read_arguments(__doc__).parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with torch.inference_mode():
        for family in FAMILIES:
            for name, make in family():
                if arguments.only and name not in arguments.only:
                    continue
                microseconds = protocol.microseconds(make(), arguments.samples or 9)
                print(f"{name}\t{microseconds:.3f}", flush=True)


if __name__ == "__main__":
    main()
