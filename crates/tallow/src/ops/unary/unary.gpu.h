/* y[i] = f(x[i]). Defines: XT, INTEGER (1 for integers), DIGITS (0 for what has 11 bits or fewer, 1
   for f32, 2 for f64), FORMULA (unary_ and the method's name: some methods' names are macros of the
   language). */
#define T CT(XT)
#if INTEGER
/* Unsigned arithmetic wraps; signed would be undefined. */
FN T unary_sqr(T x) { return (T)((ulong)x * (ulong)x); }
FN T unary_abs(T x) { return x < (T)0 ? (T)(0ul - (ulong)x) : x; }
FN T unary_neg(T x) { return (T)(0ul - (ulong)x); }
FN T unary_sign(T x) { return (T)((x > (T)0) - (x < (T)0)); }
FN T unary_floor(T x) { return x; }
FN T unary_ceil(T x) { return x; }
FN T unary_round(T x) { return x; }
FN T unary_relu(T x) { return x < (T)0 ? (T)0 : x; }
#else
FN T unary_exp(T x) { return exp(x); }
FN T unary_log(T x) { return log(x); }
FN T unary_sin(T x) { return sin(x); }
FN T unary_cos(T x) { return cos(x); }
FN T unary_tanh(T x) { return tanh(x); }
FN T unary_erf(T x) { return ERF(x); }
FN T unary_sqrt(T x) { return sqrt(x); }
FN T unary_rsqrt(T x) { return (T)1 / sqrt(x); }
FN T unary_recip(T x) { return (T)1 / x; }
FN T unary_sqr(T x) { return x * x; }
FN T unary_abs(T x) { return fabs(x); }
FN T unary_neg(T x) { return -x; }
FN T unary_sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x; }
FN T unary_floor(T x) { return floor(x); }
FN T unary_ceil(T x) { return ceil(x); }
FN T unary_round(T x) { return round(x); }
FN T unary_relu(T x) { return x < (T)0 ? (T)0 : x; }
FN T unary_sigmoid(T x) { return (T)1 / ((T)1 + exp(-x)); }
FN T unary_silu(T x) { return x / ((T)1 + exp(-x)); }
/* (1 + tanh u)/2 is sigmoid(2u); the factors are 2 sqrt(2/pi) and 0.044715 of it. */
FN T unary_gelu(T x) {
    const T inner = x * ((T)1.5957691216057308 + (T)0.07135481627260025 * x * x);
    return x / ((T)1 + exp(-inner));
}
/* x times the part of a normal distribution below x. Far below 0 the sum 1 + erf keeps no digits;
   the tail beyond u > 0 is exp(-u u / 2) R(t) with t = 1 / (1 + k u), and R fitted for the least
   relative error up to u = 14.5, where f32 ends: 3.2e-8, or 3.3e-5 for what has 11 bits or fewer. */
#if DIGITS == 2
FN T unary_gelu_erf(T x) { return (T)0.5 * x * ERFC(-x * (T)0.70710678118654752); }
#else
FN float unary_gelu_erf(float x) {
    const float u = fmin(fabs(x), 16.0f), square = u * u;
#if DIGITS == 1
    const float t = RECIP(FMA(u, 0.35f, 1.0f));
    float r = -0.0291573829f;
    r = FMA(r, t, 0.144028663f);
    r = FMA(r, t, -0.255834722f);
    r = FMA(r, t, 0.159315221f);
    r = FMA(r, t, -0.0232095461f);
    r = FMA(r, t, 0.105551422f);
    r = FMA(r, t, 0.119821536f);
    r = FMA(r, t, 0.139863484f);
    r = FMA(r, t, 0.139621308f);
    /* What the square, its product with 1 / (2 ln 2) and that number lost in rounding. */
    const float power = square * -0.72134751f;
    float lost = FMA(FMA(square, -0.72134751f, -power), 0.6931472f, FMA(u, u, -square) * -0.5f);
    lost = FMA(square, -6.6748791e-9f, lost);
    const float tail = EXP2(power) * (FMA(r, lost, r) * t);
#else
    const float t = RECIP(FMA(u, 0.375f, 1.0f));
    float r = -0.0903188181f;
    r = FMA(r, t, 0.199560855f);
    r = FMA(r, t, 0.084121413f);
    r = FMA(r, t, 0.157559003f);
    r = FMA(r, t, 0.149079579f);
    const float tail = EXP2(square * -0.72134751f) * (r * t);
#endif
    return x * (x < 0.0f ? tail : 1.0f - tail);
}
#endif
#endif

KERNEL(unary, WG)(IN(XT, x), OUT(XT, y), PARAMS(View1)) {
    AFTER_INPUTS();
    MAP1(XT, x, XT, y, FORMULA)
}
