/* Prelude: OpenCL C 1.2 and later. */
#define TARGET_OPENCL 1
#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define GLOBAL __global
#define ALIGNED(n) __attribute__((aligned(n)))
#define SHARED __local
#define SHARED_P __local
#define CONSTANT __constant
#define RESTRICT restrict
#define FN static inline
/* pocl 3.1, whose groups are loops over threads, computes wrong values where two such bodies are
   inlined into one loop (LLVM 14; right with -cl-opt-disable, and in oclgrind). */
#ifdef USE_SUBGROUPS
#define FN_LARGE static inline
#else
#define FN_LARGE __attribute__((noinline))
#endif
#define IN_(T, n) __global const T *restrict n
#define OUT_(T, n) __global T *restrict n
#define INOUT_(T, n) __global T *n
#define PARAMS(T) const T p
#define ERRORS __global uint *errors_
#ifdef USE_SUBGROUPS
#define SG_ATTR_ __attribute__((intel_reqd_sub_group_size(32)))
#else
#define SG_ATTR_
#endif
#define KERNEL(name, wg) __attribute__((reqd_work_group_size(wg, 1, 1))) SG_ATTR_ __kernel void name
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define TID ((uint)get_local_id(0))
#define GRP_X ((uint)get_group_id(0))
#define GRP_Y ((uint)get_group_id(1))
#define GRP_Z ((uint)get_group_id(2))
#define GRPS_X ((uint)get_num_groups(0))
#define UNROLL _Pragma("unroll")
#define AFTER_INPUTS()
#define AS_UINT(x) as_uint(x)
#define AS_FLOAT(x) as_float(x)
#define AS_ULONG(x) as_ulong(x)
#define AS_DOUBLE(x) as_double(x)
#define FMA(a, b, c) fma(a, b, c)
#define MULHI(a, b) mul_hi((uint)(a), (uint)(b))
#define ERF(x) erf(x)
#define ERFC(x) erfc(x)
#define POPCOUNT(x) popcount(x)
#define INF INFINITY
#define QNAN nan(0u)
#define IS_NAN(x) isnan(x)
#define ATOMIC_ADD_U32(p, v) atomic_add((volatile __global uint *)(p), (v))
#define ATOMIC_CAS_U32(p, old, new) atomic_cmpxchg((volatile __global uint *)(p), (old), (new))
#define ERRORS_SET_(code) atomic_cmpxchg((volatile __global uint *)errors_, 0u, (code))
typedef half st_f16;
#define LOAD_f16(p, i) vload_half((i), (p))
#define STORE_f16(p, i, v) vstore_half_rte((v), (i), (p))
static inline float f16_bits_(uint word) {
    const ushort bits = (ushort)word;
    return vload_half(0, (const half *)&bits);
}
static inline float f16_round_(float v) {
    ushort bits;
    vstore_half_rte(v, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}
#define PRIVATE_P
#define RSQRT(x) rsqrt(x)
#define RECIP(x) (1.0f / (x))
#define EXP2(x) exp2(x)
#define F16_BITS(word) f16_bits_(word)
#define F16_ROUND(v) f16_round_(v)
#define LOAD_WORDS2(d, p, i) vstore2(vload2((i), (__global const uint *)(p)), 0, (d))
#define LOAD_WORDS4(d, p, i) vstore4(vload4((i), (__global const uint *)(p)), 0, (d))
#define LOAD_FLOATS4(d, space, p, i) vstore4(vload4((i), (p)), 0, (d))
/* Subgroups of 32: the device's own, or through local memory and barriers. All threads of a group
   come to these together. */
#ifdef USE_SUBGROUPS
#define SG_SCRATCH(wg)
#define SG_LANE ((uint)get_sub_group_local_id())
#define SG_ID ((uint)get_sub_group_id())
#define SG_SUM(v) sub_group_reduce_add(v)
#define SG_MAX(v) sub_group_reduce_max(v)
#define SG_SHUFFLE_XOR(v, m) sub_group_shuffle_xor(v, m)
#else
#define SG_SCRATCH(wg) __local float sg_scratch_[wg];
#define SG_LANE (TID & 31u)
#define SG_ID (TID >> 5)
#define SG_SUM(v) sg_sum_((v), sg_scratch_)
#define SG_MAX(v) sg_max_((v), sg_scratch_)
#define SG_SHUFFLE_XOR(v, m) sg_xor_((v), (m), sg_scratch_)
static inline float sg_xor_(float v, uint m, __local float *s) {
    const uint l = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    return s[l ^ m];
}
static inline float sg_sum_(float v, __local float *s) {
    const uint l = (uint)get_local_id(0), b = l & ~31u;
    float r = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 32u; i++) r += s[b + i];
    return r;
}
static inline float sg_max_(float v, __local float *s) {
    const uint l = (uint)get_local_id(0), b = l & ~31u;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    float r = s[b];
    for (uint i = 1; i < 32u; i++) r = fmax(r, s[b + i]);
    return r;
}
#endif
