/* y[i] = c[i] is not 0 ? a[i] : b[i]. Defines: IT (the condition's dtype), XT (an integer of the
   elements' size). */
#define SELECTED_(c, v, w) ((c) != 0 ? (v) : (w))
KERNEL(select_where, WG)(IN(IT, c), IN(XT, a), IN(XT, b), OUT(XT, y), PARAMS(View3)) {
    AFTER_INPUTS();
    MAP3(IT, c, XT, a, XT, b, XT, y, SELECTED_)
}
