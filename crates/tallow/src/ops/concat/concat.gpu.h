/* y[i] = x[i], two views of one shape. Defines: XT (an integer of the elements' size). */
KERNEL(concat_write, WG)(IN(XT, x), INOUT(XT, y), PARAMS(View2)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at, at2;
            PLACE2(at, i, p.dims, p.strides, at2, p.strides2)
            y[p.offset2 + at2] = x[p.offset + at];
        }
    }
}
