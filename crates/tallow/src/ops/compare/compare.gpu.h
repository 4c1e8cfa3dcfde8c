/* y[i] = a[i] RELATION b[i], 1 or 0. Defines: XT, RELATION (an operator). */
KERNEL(compare, WG)(IN(XT, a), IN(XT, b), OUT(u8, y), PARAMS(View2)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at, at2;
            PLACE2(at, i, p.dims, p.strides, at2, p.strides2)
            const CT(XT) v = LOAD(XT, a, p.offset + at);
            const CT(XT) w = LOAD(XT, b, p.offset2 + at2);
            STORE(u8, y, i, v RELATION w ? 1u : 0u);
        }
    }
}
