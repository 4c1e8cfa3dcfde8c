/* y[i] = a[i] RELATION b[i], 1 or 0. Defines: XT, RELATION (an operator). */
#define COMPARED_(v, w) ((v) RELATION (w) ? 1u : 0u)
KERNEL(compare, WG)(IN(XT, a), IN(XT, b), OUT(u8, y), PARAMS(View2)) {
    AFTER_INPUTS();
    MAP2(XT, a, XT, b, u8, y, COMPARED_)
}
