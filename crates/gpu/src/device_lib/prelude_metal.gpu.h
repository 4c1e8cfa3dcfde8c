/* Prelude: Metal Shading Language 2.4 and later. */
#include <metal_stdlib>
using namespace metal;
#define TARGET_METAL 1
#define GLOBAL device
#define ALIGNED(n) alignas(n)
#ifndef SHARED
#define SHARED threadgroup
#endif
#define SHARED_P threadgroup
#define CONSTANT constant
#define RESTRICT
#define FN static inline
#define FN_LARGE FN
#define IN_(T, n) device const T *n
#define OUT_(T, n) device T *n
#define INOUT_(T, n) device T *n
/* The last argument; a kernel without parameters takes an empty one. */
#define PARAMS(T) constant T &p, uint3 tid3_ [[thread_position_in_threadgroup]], \
    uint3 grp3_ [[threadgroup_position_in_grid]], uint3 grps3_ [[threadgroups_per_grid]], \
    uint lane_ [[thread_index_in_simdgroup]], uint sgid_ [[simdgroup_index_in_threadgroup]]
#define ERRORS device atomic_uint *errors_
#define KERNEL(name, wg) [[max_total_threads_per_threadgroup(wg)]] kernel void name
#define BARRIER() threadgroup_barrier(mem_flags::mem_threadgroup)
#define TID (tid3_.x)
#define GRP_X (grp3_.x)
#define GRP_Y (grp3_.y)
#define GRP_Z (grp3_.z)
#define GRPS_X (grps3_.x)
#define UNROLL _Pragma("unroll")
#define AFTER_INPUTS()
#define AS_UINT(x) as_type<uint>(x)
#define AS_FLOAT(x) as_type<float>(x)
#define FMA(a, b, c) fma(a, b, c)
#define MULHI(a, b) mulhi((uint)(a), (uint)(b))
#define ERF(x) erf_(x)
#define ERFC(x) erfc_(x)
#define POPCOUNT(x) popcount(x)
#define INF INFINITY
#define QNAN NAN
#define IS_NAN(x) isnan(x)
#define ATOMIC_ADD_U32(p, v) atomic_fetch_add_explicit((device atomic_uint *)(p), (v), memory_order_relaxed)
FN uint atomic_cas_(device atomic_uint *p, uint old, uint value) {
    while (!atomic_compare_exchange_weak_explicit(p, &old, value, memory_order_relaxed, memory_order_relaxed)) {
        if (old != 0u) break;
    }
    return old;
}
#define ATOMIC_CAS_U32(p, old, value) atomic_cas_((device atomic_uint *)(p), (old), (value))
#define ERRORS_SET_(code) atomic_store_explicit(errors_, (code), memory_order_relaxed)
typedef half st_f16;
#define LOAD_f16(p, i) ((float)(p)[i])
#define STORE_f16(p, i, v) ((p)[i] = (half)(v))
#define PRIVATE_P thread
#define RSQRT(x) rsqrt(x)
#define RECIP(x) (1.0f / (x))
#define EXP2(x) exp2(x)
#define F16_BITS(word) ((float)as_type<half>((ushort)(word)))
#define F16_ROUND(v) ((float)(half)(v))
#define LOAD_WORDS2(d, p, i) { const uint2 v_ = ((device const uint2 *)(p))[i]; (d)[0] = v_.x; (d)[1] = v_.y; }
#define LOAD_WORDS4(d, p, i)                                                              \
    {                                                                                     \
        const uint4 v_ = ((device const uint4 *)(p))[i];                                  \
        (d)[0] = v_.x; (d)[1] = v_.y; (d)[2] = v_.z; (d)[3] = v_.w;                       \
    }
#define LOAD_FLOATS4(d, space, p, i)                                                      \
    {                                                                                     \
        const packed_float4 v_ = ((space const packed_float4 *)(p))[i];                   \
        (d)[0] = v_[0]; (d)[1] = v_[1]; (d)[2] = v_[2]; (d)[3] = v_[3];                   \
    }
/* Abramowitz and Stegun 7.1.26 has 1.5e-7; below 1/2 the series keeps relative precision. */
FN float erf_(float x) {
    const float a = fabs(x);
    if (a < 0.5f) {
        const float s = x * x;
        return x * (1.1283791671f + s * (-0.3761263890f + s * (0.1128379167f + s * (-0.0268661706f
            + s * (0.0052239776f + s * (-0.0008548327f))))));
    }
    const float t = 1.0f / (1.0f + 0.3275911f * a);
    const float y = 1.0f - (((((1.061405429f * t - 1.453152027f) * t) + 1.421413741f) * t
        - 0.284496736f) * t + 0.254829592f) * t * exp(-a * a);
    return x < 0.0f ? -y : y;
}
FN float erfc_(float x) { return 1.0f - erf_(x); }
#define SG_SCRATCH(wg)
#define SG_LANE lane_
#define SG_ID sgid_
#define SG_SUM(v) simd_sum(v)
#define SG_MAX(v) simd_max(v)
#define SG_SHUFFLE_XOR(v, m) simd_shuffle_xor((v), (ushort)(m))
