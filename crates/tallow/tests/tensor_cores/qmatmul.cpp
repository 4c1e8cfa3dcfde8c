/* qmatmul_mma on a processor, against sums in double. Defines: those of the kernel, and WG. */
#include "emulation.h"
/* `params!` writes this one where a device compiles the kernel. */
typedef struct {
    ulong offset, scales_at;
    uint m, n, k, tiles_n;
} QMatMulParams;
#include "src/ops/qmatmul/mma.gpu.h"

#if WG == 256
#define ENTRY qmatmul_mma_wide
#else
#define ENTRY qmatmul_mma
#endif

static std::mt19937 numbers(1);
static std::normal_distribution<float> normal;

/* Weights as the kernel reads them, and what they stand for. */
static void fill(uint count, std::vector<uchar> &bytes, std::vector<float> &weights, ulong &scales_at) {
    bytes.assign(count * 4 + 64, 0);
    weights.resize(count);
    scales_at = 0;
#if BITS == 0
    for (uint i = 0; i < count; i++) {
        ST(WT) half;
        STORE(WT, &half, 0, normal(numbers));
        memcpy(&bytes[i * 2], &half, 2);
        weights[i] = LOAD(WT, &half, 0);
    }
#else
    scales_at = (count * BITS / 8 + 15) / 16 * 16;
    const uint size = sizeof(ST(SCALE));
    float pair[2];
    for (uint i = 0; i < count; i++) {
        for (uint of_shift = 0; i % GROUP == 0 && of_shift < 2; of_shift++) {
            ST(SCALE) stored;
            STORE(SCALE, &stored, 0, normal(numbers) * (of_shift ? 1.0f : 0.1f));
            memcpy(&bytes[scales_at + (i / GROUP * 2 + of_shift) * size], &stored, size);
            pair[of_shift] = LOAD(SCALE, &stored, 0);
        }
        const uchar code = (uchar)numbers();
        if (BITS == 4) bytes[i / 2] |= (code & 15) << (i % 2 * 4);
        else bytes[i] = code;
        weights[i] = pair[0] * (BITS == 4 ? (float)(code & 15) : (float)(int8_t)code) + pair[1];
    }
#endif
}

static void check(uint m, uint n, uint k, uint offset) {
    std::vector<float> x(offset + m * k + 16), weights, out(m * n, NAN);
    std::vector<uchar> bytes;
    for (float &number : x) number = normal(numbers);
    ulong scales_at;
    fill(n * k, bytes, weights, scales_at);
    const uint tiles_m = (m + TILE - 1) / TILE, tiles_n = (n + TILE - 1) / TILE;
    const QMatMulParams p = {offset, scales_at, m, n, k, tiles_n};
    kernel = [&] { ENTRY(bytes.data(), x.data(), out.data(), p); };
    for (uint at = 0; at < tiles_m * tiles_n; at++) run_group(at, WG);
    double worst = 0;
    for (uint row = 0; row < m; row++) {
        for (uint column = 0; column < n; column++) {
            double sum = 0, size = 0;
            for (uint i = 0; i < k; i++) {
                const double product = (double)x[offset + row * k + i] * weights[column * k + i];
                sum += product;
                size += fabs(product);
            }
            worst = worse(worst, fabs(out[row * n + column] - sum) / size);
        }
    }
    char what[99];
    snprintf(what, sizeof(what), "m %u n %u k %u from %u", m, n, k, offset);
    judge(what, worst, 8e-6);
}

int main() {
    check(9, 37, 256, 0);
    check(64, 64, 64, 0);
    check(130, 131, 288, 1);
    check(3, 7, 32, 4);
#if BITS == 0
    check(70, 140, 45, 0);
    check(65, 66, 52, 2);
#endif
    return failures != 0;
}
