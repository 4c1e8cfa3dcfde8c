/* A prelude of the kernel language for a C++ compiler on a processor: a group of threads is as many
   fibers, which give way at barriers, and the instructions of tensor cores are done as NVIDIA's PTX ISA
   describes them. Copies on their way into shared memory arrive when the kernel waits for them, or with
   EARLY_COPIES at once: a kernel has to be right with both. */
#include "group.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

typedef unsigned char uchar;
struct alignas(16) uint4 {
    uint x, y, z, w;
};
struct alignas(8) uint2 {
    uint x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline uint4 make_uint4(uint x, uint y, uint z, uint w) { return {x, y, z, w}; }

static uint group, groups_of_grid;
static std::function<void()> kernel;
static void run_thread() { kernel(); }

#define TARGET_CUDA 1
#define MMA_EMULATED 1
#define GLOBAL
#define SHARED static
#define SHARED_P
#define FN static inline
#define IN_(T, n) const T *n
#define OUT_(T, n) T *n
#define INOUT_(T, n) T *n
#define PARAMS(T) const T p
#define KERNEL(name, wg) void name
#ifdef NO_BARRIERS /* a seeded fault, which the checks must see */
#define BARRIER()
#else
#define BARRIER() meet_group()
#endif
#define AFTER_INPUTS()
#define UNROLL
#define TID ((uint)current)
#define GRP_X group
#define GRPS_X groups_of_grid
#define SG_LANE ((uint)current & 31u)
#define SG_ID ((uint)current >> 5)
#define FMA(a, b, c) fmaf(a, b, c)
#define EXP2(x) exp2f(x)
#define INF INFINITY
#define AS_UINT(x) as_uint(x)
#define AS_FLOAT(x) as_float(x)
static inline uint as_uint(float f) {
    uint u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float as_float(uint u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
typedef ushort st_f16;
#define LOAD_f16(p, i) f16_to_f32_((p)[i])
#define STORE_f16(p, i, v) ((p)[i] = f32_to_f16_(v))
static inline float f16_to_f32_(ushort bits) {
    _Float16 half;
    memcpy(&half, &bits, 2);
    return (float)half;
}
static inline ushort f32_to_f16_(float f) {
    const _Float16 half = (_Float16)f;
    ushort bits;
    memcpy(&bits, &half, 2);
    return bits;
}
static inline float bf16_to_f32(ushort bits) { return as_float((uint)bits << 16); }
static inline ushort f32_to_bf16(float f) {
    const uint u = as_uint(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static float shuffled[WARPS_MAX][32];
static inline float SG_SHUFFLE_XOR(float v, uint mask) {
    float *warp = shuffled[current / 32];
    meet_warp();
    warp[SG_LANE] = v;
    meet_warp();
    return warp[SG_LANE ^ mask];
}

static inline uint mma_pair_f16(float a, float b) {
    return f32_to_f16_(a) | (uint)f32_to_f16_(b) << 16;
}
static inline uint mma_pair_bf16(float a, float b) {
    return f32_to_bf16(a) | (uint)f32_to_bf16(b) << 16;
}
static uint operands_a[WARPS_MAX][32][4], operands_b[WARPS_MAX][32][2];
static void multiply(float *c, const uint *a, const uint *b, float (*number)(ushort)) {
    uint(*as)[4] = operands_a[current / 32], (*bs)[2] = operands_b[current / 32];
    const uint lane = SG_LANE;
    meet_warp();
    memcpy(as[lane], a, sizeof(as[lane]));
    memcpy(bs[lane], b, sizeof(bs[lane]));
    meet_warp();
    for (uint i = 0; i < 4; i++) {
        const uint row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
        for (uint k = 0; k < 16; k++) {
            /* Element i of a lane's A: rows lane / 4 and 8 more, inner 2 (lane % 4) and 8 more. */
            const uint at = k % 2 + (row >= 8 ? 2 : 0) + (k >= 8 ? 4 : 0);
            const uint left = as[row % 8 * 4 + k % 8 / 2][at / 2] >> (at % 2 * 16);
            const uint bt = k % 2 + (k >= 8 ? 2 : 0);
            const uint right = bs[column * 4 + k % 8 / 2][bt / 2] >> (bt % 2 * 16);
            c[i] += number((ushort)left) * number((ushort)right);
        }
    }
}
static void mma_f16(float *c, const uint *a, const uint *b) { multiply(c, a, b, f16_to_f32_); }
static void mma_bf16(float *c, const uint *a, const uint *b) { multiply(c, a, b, bf16_to_f32); }

static const uint4 *rows[WARPS_MAX][32];
static void load(uint *r, const uint4 *chunk, bool turned) {
    const uint4 **warp = rows[current / 32];
    const uint lane = SG_LANE;
    if ((uintptr_t)chunk % 16) fail("a matrix row that is not aligned");
    meet_warp();
    warp[lane] = chunk;
    meet_warp();
    for (uint m = 0; m < 4; m++) {
        ushort pair[2];
        for (uint i = 0; i < 2; i++) {
            const uint along = lane % 4 * 2 + i, across = lane / 4;
            const uint row = turned ? along : across, column = turned ? across : along;
            pair[i] = ((const ushort *)warp[m * 8 + row])[column];
        }
        r[m] = pair[0] | (uint)pair[1] << 16;
    }
    meet_warp();
}
static void mma_load(uint *r, const uint4 *chunk) { load(r, chunk, false); }
static void mma_load_turned(uint *r, const uint4 *chunk) { load(r, chunk, true); }

struct Copy {
    uint4 *to;
    const void *from;
    uint bytes;
};
static void arrive(const Copy &copy) {
    char bytes[16] = {0};
    memcpy(bytes, copy.from, copy.bytes);
    memcpy(copy.to, bytes, 16);
}
static std::vector<std::vector<Copy>> copies[WARPS_MAX * 32];
static void mma_copy(uint4 *to, const void *from, uint bytes) {
    if (((uintptr_t)from % 16 && bytes) || (uintptr_t)to % 16) fail("a copy that is not aligned");
#ifdef EARLY_COPIES
    return arrive({to, from, bytes});
#endif
    auto &groups = copies[current];
    if (groups.empty()) groups.emplace_back();
    groups.back().push_back({to, from, bytes});
}
static void mma_copies_end() {
    auto &groups = copies[current];
    if (groups.empty()) groups.emplace_back();
    groups.emplace_back();
}
static void MMA_COPIES_WAIT(uint left) {
    auto &groups = copies[current];
    /* The last group is the open one. */
    while (groups.size() > left + 1) {
        for (const Copy &copy : groups.front()) arrive(copy);
        groups.erase(groups.begin());
    }
}

/* Runs `kernel` for a group of threads. */
static void run_group(uint number, int threads) {
    group = number;
    for (auto &own : copies) own.clear();
    run_fibers(threads);
}

/* The one header of the device library that these kernels need; it counts on no strided views. */
#include "../gpu/src/device_lib/dtypes.gpu.h"
#include "src/ops/matmul/mma.gpu.h"

/* An error that is too large, or no number. */
static int failures;
static void judge(const char *what, double worst, double bound) {
    const bool right = worst <= bound;
    printf("%s: %.2e, at most %.2e%s\n", what, worst, bound, right ? "" : ": WRONG");
    failures += !right;
}
/* The greater; NaN if either is. */
static double worse(double a, double b) { return !(b <= a) ? b : a; }
