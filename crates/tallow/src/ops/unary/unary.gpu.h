/* y[i] = f(x[i]). Defines: XT, INTEGER (1 for integers), FORMULA (unary_ and the method's
   name: some methods' names are macros of the language). */
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
/* Far below 0 the sum 1 + erf keeps no digits, where erfc does. */
FN T unary_gelu_erf(T x) { return (T)0.5 * x * ERFC(-x * (T)0.70710678118654752); }
#endif

KERNEL(unary, WG)(IN(XT, x), OUT(XT, y), PARAMS(View1)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at;
            PLACE(at, i, p.dims, p.strides)
            STORE(XT, y, i, FORMULA(LOAD(XT, x, p.offset + at)));
        }
    }
}
