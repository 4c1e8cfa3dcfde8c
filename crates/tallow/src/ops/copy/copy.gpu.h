/* y[i] = x[i], the elements of a view one behind the other. Defines: XT. */
KERNEL(copy_strided, WG)(IN(XT, x), OUT(XT, y), PARAMS(View1)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at;
            PLACE(at, i, p.dims, p.strides)
            y[i] = x[p.offset + at];
        }
    }
}
