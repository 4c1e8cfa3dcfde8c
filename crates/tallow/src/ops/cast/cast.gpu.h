/* y[i] = x[i] as another dtype. Defines: XT, YT, and their kinds FROM and TO: 0 for integers, 1 for
   narrow floats, 2 for f32, 3 for f64. */
#define X CT(XT)
#if TO == 0 && FROM != 0
/* Towards 0; NaN is 0, and what is beyond the range is its end. TOP is the greatest and 1. */
#define TOP_u8 256.0f
#define TOP_u32 4294967296.0f
#define TOP_i16 32768.0f
#define TOP_i32 2147483648.0f
#define TOP_i64 9223372036854775808.0f
#define BOTTOM_u8 0.0f
#define BOTTOM_u32 0.0f
#define BOTTOM_i16 -32768.0f
#define BOTTOM_i32 -2147483648.0f
#define BOTTOM_i64 -9223372036854775808.0f
#define MOST_u8 0xfful
#define MOST_u32 0xfffffffful
#define MOST_i16 0x7ffful
#define MOST_i32 0x7ffffffful
#define MOST_i64 0x7ffffffffffffffful
FN CT(YT) cast_value(X v) {
    const CT(YT) most = (CT(YT))CAT(MOST_, YT);
    if (IS_NAN(v)) return (CT(YT))0;
    if (v >= (X)CAT(TOP_, YT)) return most;
    if (v <= (X)CAT(BOTTOM_, YT)) return CAT(BOTTOM_, YT) < 0.0f ? (CT(YT))(-most - 1) : (CT(YT))0;
    return (CT(YT))v;
}
#elif TO == 1 && FROM == 0
/* To f32, rounded to odd, so that the next rounding is right (Boldo and Melquiond 2008). */
FN float cast_value(X v) {
    const ulong size = v < (X)0 ? 0ul - (ulong)v : (ulong)v;
    float f = (float)size;
    if ((ulong)f != size) f = AS_FLOAT((AS_UINT(f) - ((ulong)f > size ? 1u : 0u)) | 1u);
    return v < (X)0 ? -f : f;
}
#elif TO == 1 && FROM == 3
FN float cast_value(double v) {
    const float f = (float)v;
    if (IS_NAN(v) || (double)f == v) return f;
    return AS_FLOAT((AS_UINT(f) - (fabs((double)f) > fabs(v) ? 1u : 0u)) | 1u);
}
#elif TO == 0
#define cast_value(v) (v)
#else
#define cast_value(v) ((CT(YT))(v))
#endif

KERNEL(cast, WG)(IN(XT, x), OUT(YT, y), PARAMS(View1)) {
    AFTER_INPUTS();
    MAP1(XT, x, YT, y, cast_value)
}
