/* y[i] = the value, over a view. Defines: XT (an integer of the elements' size). */
KERNEL(fill_value, WG)(INOUT(XT, y), PARAMS(FillParams)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at;
            PLACE(at, i, p.dims, p.strides)
            y[p.offset + at] = (ST(XT))p.bits;
        }
    }
}
