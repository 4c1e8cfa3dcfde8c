/* y[i] = f(x[i], a, b). Defines: XT, INTEGER (1 for integers), WIDE (1 for f64), FORMULA
   (parametric_ and the name), CHECKED (1 where some integers have no whole result). */
#define T CT(XT)
#if INTEGER
typedef ct_i64 number_t;
/* Unsigned arithmetic wraps; signed would be undefined. */
FN T parametric_affine(T x, number_t a, number_t b) {
    return (T)((ulong)x * (ulong)a + (ulong)b);
}
/* Powers of 1 and -1 go by the exponent's lowest bit, so that a negative one is as good. */
FN T parametric_powf(T x, number_t a, number_t b) {
    ulong base = (ulong)x, result = 1ul, rest = (ulong)a;
    if (x == (T)1 || (x == (T)-1 && (T)-1 < (T)0)) rest &= 1ul;
    for (; rest != 0ul; rest >>= 1) {
        if ((rest & 1ul) != 0ul) result *= base;
        base *= base;
    }
    return (T)result;
}
FN T parametric_elu(T x, number_t a, number_t b) { return x < (T)0 ? (T)0 : x; }
FN T parametric_clamp(T x, number_t a, number_t b) {
    const number_t v = (number_t)x;
    const number_t above = v < a ? a : v;
    return (T)(above > b ? b : above);
}
FN uint refuses_parametric_powf(T x, number_t a) {
    return x == (T)1 || (x == (T)-1 && (T)-1 < (T)0) ? 0u : 1u;
}
FN uint refuses_parametric_elu(T x, number_t a) { return x < (T)0 ? 1u : 0u; }
#ifdef HAS_F64
FN T parametric_affine_exact(T x, double a, double b) { return (T)(ct_i64)((double)x * a + b); }
/* Numbers up to 2^53 are exact in f64. */
FN uint refuses_parametric_affine_exact(T x, double a, double b) {
    const double exact = 9007199254740992.0, wide = (double)x, value = wide * a + b;
    return fabs(wide) <= exact && fabs(value) <= exact && floor(value) == value ? 0u : 1u;
}
#endif
#else
typedef T number_t;
FN T parametric_affine(T x, T a, T b) {
#if WIDE
    return x * a + b;
#else
    return fma(x, a, b);
#endif
}
/* The usual exponents, each with pow's special values. */
FN T parametric_powf(T x, T a, T b) {
    if (a == (T)2) return x * x;
    if (a == (T)1) return x;
    if (a == (T)-1) return (T)1 / x;
    return pow(x, a);
}
/* e^x - 1 = 2h / (1 - h) for h = tanh(x/2), which keeps its digits where e^x nears 1. */
FN T parametric_elu(T x, T a, T b) {
    const T h = tanh((T)0.5 * x);
    return x < (T)0 ? a * ((h + h) / ((T)1 - h)) : x;
}
/* Comparisons with a NaN fail and leave it. */
FN T parametric_clamp(T x, T a, T b) {
    const T above = x < a ? a : x;
    return above > b ? b : above;
}
#endif
#define EXACT_parametric_affine_exact 1
#define EXACT_parametric_powf 0
#define EXACT_parametric_elu 0

#if WIDE
#define NUMBER_A AS_DOUBLE(p.a_double)
#define NUMBER_B AS_DOUBLE(p.b_double)
#elif INTEGER && CHECKED && CAT(EXACT_, FORMULA)
#define NUMBER_A AS_DOUBLE(p.a_double)
#define NUMBER_B AS_DOUBLE(p.b_double)
#define REFUSES(v) refuses_parametric_affine_exact(v, NUMBER_A, NUMBER_B)
#elif INTEGER
#define NUMBER_A p.a_whole
#define NUMBER_B p.b_whole
#define REFUSES(v) CAT(refuses_, FORMULA)(v, p.a_whole)
#else
#define NUMBER_A p.a
#define NUMBER_B p.b
#endif

#define VALUE_(v) FORMULA(v, NUMBER_A, NUMBER_B)
#if CHECKED
#define CHECKED_(v) (REFUSES(v) != 0u ? (FAIL_VALUE(), VALUE_(v)) : VALUE_(v))
KERNEL(parametric_checked, WG)(IN(XT, x), OUT(XT, y), ERRORS, PARAMS(ParametricParams)) {
    AFTER_INPUTS();
    MAP1(XT, x, XT, y, CHECKED_)
}
#else
KERNEL(parametric, WG)(IN(XT, x), OUT(XT, y), PARAMS(ParametricParams)) {
    AFTER_INPUTS();
    MAP1(XT, x, XT, y, VALUE_)
}
#endif
