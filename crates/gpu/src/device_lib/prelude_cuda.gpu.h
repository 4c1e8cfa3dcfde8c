/* Prelude: CUDA C++ through NVRTC; needs no header of CUDA's. */
#define TARGET_CUDA 1
#define HAS_F64 1
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define GLOBAL
#define ALIGNED(n) __align__(n)
#define SHARED __shared__ __align__(16)
#define SHARED_P
#define CONSTANT static __device__ const
#define RESTRICT __restrict__
#define FN static __device__ __forceinline__
#define FN_LARGE FN
/* Not restrict: the compiler would read through the constant cache, and such loads it moves to both
   sides of AFTER_INPUTS. */
#define IN_(T, n) const T *n
#define OUT_(T, n) T *__restrict__ n
#define INOUT_(T, n) T *n
#define PARAMS(T) const T p
#define ERRORS uint *errors_
#define KERNEL(name, wg) extern "C" __global__ void __launch_bounds__(wg) name
#define BARRIER() __syncthreads()
#define TID ((uint)threadIdx.x)
#define GRP_X ((uint)blockIdx.x)
#define GRP_Y ((uint)blockIdx.y)
#define GRP_Z ((uint)blockIdx.z)
#define GRPS_X ((uint)gridDim.x)
#define UNROLL _Pragma("unroll")
#if __CUDA_ARCH__ >= 900
#define AFTER_INPUTS() asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory")
#else
#define AFTER_INPUTS()
#endif
#define AS_UINT(x) __float_as_uint(x)
#define AS_FLOAT(x) __uint_as_float(x)
#define AS_ULONG(x) ((ulong)__double_as_longlong(x))
#define AS_DOUBLE(x) __longlong_as_double((long long)(x))
#define FMA(a, b, c) fma(a, b, c)
#define MULHI(a, b) __umulhi((uint)(a), (uint)(b))
#define ERF(x) erf(x)
#define ERFC(x) erfc(x)
#define POPCOUNT(x) ((uint)__popc(x))
#define INF __int_as_float(0x7f800000)
#define QNAN __int_as_float(0x7fc00000)
#define IS_NAN(x) ((x) != (x))
#define ATOMIC_ADD_U32(p, v) atomicAdd((uint *)(p), (v))
#define ATOMIC_CAS_U32(p, old, new) atomicCAS((uint *)(p), (old), (new))
#define ERRORS_SET_(code) atomicCAS(errors_, 0u, (code))
typedef ushort st_f16;
FN float f16_to_f32_(ushort h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
FN ushort f32_to_f16_(float f) { ushort h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
#if __CUDA_ARCH__ >= 800
#define HAS_BF16_ROUND 1
FN ushort f32_to_bf16_(float f) { ushort h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
#endif
#define LOAD_f16(p, i) f16_to_f32_((p)[i])
#define STORE_f16(p, i, v) ((p)[i] = f32_to_f16_(v))
FN float rsqrt_(float x) { float y; asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
FN float recip_(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
FN float exp2_(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
#define PRIVATE_P
#define RSQRT(x) rsqrt_(x)
#define RECIP(x) recip_(x)
#define EXP2(x) exp2_(x)
#define F16_BITS(word) f16_to_f32_((ushort)(word))
#define F16_ROUND(v) f16_to_f32_(f32_to_f16_(v))
#define LOAD_WORDS2(d, p, i) { const uint2 v_ = ((const uint2 *)(p))[i]; (d)[0] = v_.x; (d)[1] = v_.y; }
#define LOAD_WORDS4(d, p, i)                                                              \
    {                                                                                     \
        const uint4 v_ = ((const uint4 *)(p))[i];                                         \
        (d)[0] = v_.x; (d)[1] = v_.y; (d)[2] = v_.z; (d)[3] = v_.w;                       \
    }
#define LOAD_FLOATS4(d, space, p, i)                                                      \
    {                                                                                     \
        const float4 v_ = ((const float4 *)(p))[i];                                       \
        (d)[0] = v_.x; (d)[1] = v_.y; (d)[2] = v_.z; (d)[3] = v_.w;                       \
    }
FN float clamp(float v, float lo, float hi) { return fminf(fmaxf(v, lo), hi); }
#define SG_SCRATCH(wg)
#define SG_LANE ((uint)threadIdx.x & 31u)
#define SG_ID ((uint)threadIdx.x >> 5)
#define SG_SHUFFLE_XOR(v, m) __shfl_xor_sync(0xffffffffu, (v), (m))
FN float sg_sum_(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
FN float sg_max_(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}
#define SG_SUM(v) sg_sum_(v)
#define SG_MAX(v) sg_max_(v)
