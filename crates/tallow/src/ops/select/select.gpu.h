/* y[i] = c[i] is not 0 ? a[i] : b[i]. Defines: IT (the condition's dtype), XT. */
KERNEL(select_where, WG)(IN(IT, c), IN(XT, a), IN(XT, b), OUT(XT, y), PARAMS(View3)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at, at2, at3;
            PLACE3(at, i, p.dims, p.strides, at2, p.strides2, at3, p.strides3)
            if (c[p.offset + at] != 0) y[i] = a[p.offset2 + at2];
            else y[i] = b[p.offset3 + at3];
        }
    }
}
