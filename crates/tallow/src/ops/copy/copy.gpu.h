/* y[i] = x[i], the elements of a view one behind the other. Defines: XT (an integer of the elements'
   size). */
KERNEL(copy_strided, WG)(IN(XT, x), OUT(XT, y), PARAMS(View1)) {
    AFTER_INPUTS();
    MAP1(XT, x, XT, y, SAME)
}
