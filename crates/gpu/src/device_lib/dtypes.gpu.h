/* Dtypes: ST(dt) is how an element is stored, CT(dt) what it is computed in; LOAD widens, STORE
   rounds once. Narrow integers compute in 32 bits and wrap when stored. */
#define CAT2_(a, b) a##b
#define CAT(a, b) CAT2_(a, b)
#define ST(dt) CAT(st_, dt)
#define CT(dt) CAT(ct_, dt)
#define LOAD(dt, p, i) CAT(LOAD_, dt)(p, i)
#define STORE(dt, p, i, v) CAT(STORE_, dt)(p, i, v)
#define IN(dt, n) IN_(ST(dt), n)
#define OUT(dt, n) OUT_(ST(dt), n)
#define INOUT(dt, n) INOUT_(ST(dt), n)
/* IS_INTEGER(dt) is 1 for integers; EXACT(dt) 1 where compute and storage are the same type. */
#define IS_INTEGER(dt) CAT(IS_INTEGER_, dt)
#define IS_INTEGER_f32 0
#define IS_INTEGER_f16 0
#define IS_INTEGER_bf16 0
#define IS_INTEGER_f8e4m3 0
#define IS_INTEGER_f64 0
#define IS_INTEGER_u8 1
#define IS_INTEGER_u32 1
#define IS_INTEGER_i16 1
#define IS_INTEGER_i32 1
#define IS_INTEGER_i64 1

/* A value that a kernel cannot take; the host finds it when it next reads back. */
#define FAIL_INDEX() ERRORS_SET_(1u)
#define FAIL_DIVISION() ERRORS_SET_(2u)
#define FAIL_VALUE() ERRORS_SET_(3u)

typedef float st_f32;
typedef float ct_f32;
typedef float ct_f16;
typedef ushort st_bf16;
typedef float ct_bf16;
typedef uchar st_f8e4m3;
typedef float ct_f8e4m3;
typedef uchar st_u8;
typedef uint ct_u8;
typedef uint st_u32;
typedef uint ct_u32;
typedef short st_i16;
typedef int ct_i16;
typedef int st_i32;
typedef int ct_i32;
#ifdef TARGET_CUDA
typedef long long st_i64;
typedef long long ct_i64;
#else
typedef long st_i64;
typedef long ct_i64;
#endif
#ifdef HAS_F64
typedef double st_f64;
typedef double ct_f64;
#endif

#ifndef HAS_BF16_ROUND
FN ushort f32_to_bf16_(float f) {
    const uint u = AS_UINT(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (ushort)((u >> 16) | 64u);
    return (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
#endif

/* 4 exponent bits with bias 7, 3 mantissa bits, all ones is NaN; rounds to nearest, ties to even,
   saturates at 448 (Micikevicius et al. 2022). */
FN float f8e4m3_to_f32_(uchar c) {
    const uint magnitude = (uint)c & 0x7fu, sign = ((uint)c & 0x80u) << 24;
    if (magnitude == 0x7fu) return AS_FLOAT(sign | 0x7fc00000u);
    if (magnitude < 8u) {
        const float tiny = (float)magnitude * 0.001953125f;
        return sign != 0u ? -tiny : tiny;
    }
    return AS_FLOAT(sign | ((magnitude << 20) + (120u << 23)));
}
FN uchar f32_to_f8e4m3_(float f) {
    const uint u = AS_UINT(f), magnitude = u & 0x7fffffffu;
    const uint sign = (u >> 24) & 0x80u;
    uint code;
    if (magnitude > 0x7f800000u) code = 0x7fu;
    else if (magnitude >= 0x43e00000u) code = 0x7eu;
    else if (magnitude < 0x3c800000u) {
        const float steps = AS_FLOAT(magnitude) * 512.0f + 8388608.0f;
        code = AS_UINT(steps) & 0xfu;
    } else code = ((magnitude + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20) - (120u << 3);
    return (uchar)(sign | code);
}

#define LOAD_f32(p, i) ((p)[i])
#define STORE_f32(p, i, v) ((p)[i] = (v))
#define LOAD_bf16(p, i) AS_FLOAT((uint)((p)[i]) << 16)
#define STORE_bf16(p, i, v) ((p)[i] = f32_to_bf16_(v))
#define LOAD_f8e4m3(p, i) f8e4m3_to_f32_((p)[i])
#define STORE_f8e4m3(p, i, v) ((p)[i] = f32_to_f8e4m3_(v))
#define LOAD_f64(p, i) ((p)[i])
#define STORE_f64(p, i, v) ((p)[i] = (v))
#define LOAD_u8(p, i) ((uint)(p)[i])
#define STORE_u8(p, i, v) ((p)[i] = (uchar)(v))
#define LOAD_u32(p, i) ((p)[i])
#define STORE_u32(p, i, v) ((p)[i] = (uint)(v))
#define LOAD_i16(p, i) ((int)(p)[i])
#define STORE_i16(p, i, v) ((p)[i] = (short)(v))
#define LOAD_i32(p, i) ((p)[i])
#define STORE_i32(p, i, v) ((p)[i] = (int)(v))
#define LOAD_i64(p, i) ((p)[i])
#define STORE_i64(p, i, v) ((p)[i] = (ct_i64)(v))
