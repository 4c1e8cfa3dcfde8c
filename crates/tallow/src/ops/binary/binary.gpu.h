/* out[i] = f(a[i], b[i]). Defines: XT, INTEGER (1 for integers), FORMULA (binary_ and the name),
   CHECKED (1 where some pairs have no answer). */
#define T CT(XT)
#if INTEGER
/* Unsigned arithmetic wraps; signed would be undefined. */
FN T binary_add(T a, T b) { return (T)((ulong)a + (ulong)b); }
FN T binary_sub(T a, T b) { return (T)((ulong)a - (ulong)b); }
FN T binary_mul(T a, T b) { return (T)((ulong)a * (ulong)b); }
/* The least number over -1 wraps to itself. */
FN T binary_div(T a, T b) {
    if (b == (T)0) return (T)0;
    return b == (T)-1 && (T)-1 < (T)0 ? (T)(0ul - (ulong)a) : a / b;
}
FN T binary_maximum(T a, T b) { return a > b ? a : b; }
FN T binary_minimum(T a, T b) { return a < b ? a : b; }
/* Powers of 1 and -1 go by the exponent's lowest bit, so that a negative one is as good. */
FN T binary_pow(T a, T b) {
    ulong base = (ulong)a, result = 1ul, rest = (ulong)b;
    if (a == (T)1 || (a == (T)-1 && (T)-1 < (T)0)) rest &= 1ul;
    for (; rest != 0ul; rest >>= 1) {
        if ((rest & 1ul) != 0ul) result *= base;
        base *= base;
    }
    return (T)result;
}
FN uint refuses_binary_div(T a, T b) { return b == (T)0 ? 1u : 0u; }
FN uint refuses_binary_pow(T a, T b) {
    return b < (T)0 && a != (T)1 && a != (T)-1 ? 1u : 0u;
}
#else
FN T binary_add(T a, T b) { return a + b; }
FN T binary_sub(T a, T b) { return a - b; }
FN T binary_mul(T a, T b) { return a * b; }
FN T binary_div(T a, T b) { return a / b; }
FN T binary_maximum(T a, T b) { return IS_NAN(a) || a > b ? a : b; }
FN T binary_minimum(T a, T b) { return IS_NAN(a) || a < b ? a : b; }
FN T binary_pow(T a, T b) { return pow(a, b); }
#endif

#if CHECKED
#define CHECKED_(v, w) \
    (CAT(refuses_, FORMULA)(v, w) != 0u ? (FAIL_DIVISION(), FORMULA(v, w)) : FORMULA(v, w))
KERNEL(binary_checked, WG)(IN(XT, a), IN(XT, b), OUT(XT, y), ERRORS, PARAMS(View2)) {
    AFTER_INPUTS();
    MAP2(XT, a, XT, b, XT, y, CHECKED_)
}
#else
KERNEL(binary, WG)(IN(XT, a), IN(XT, b), OUT(XT, y), PARAMS(View2)) {
    AFTER_INPUTS();
    MAP2(XT, a, XT, b, XT, y, FORMULA)
}
#endif
