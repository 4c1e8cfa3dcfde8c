/* y[i] = x at the place of i, moved along one dimension by the index that i has. Defines: IT,
   PADDING, XT (an integer of the elements' size). */
KERNEL(index_read, WG)(IN(XT, x), IN(IT, ids), OUT(XT, y), ERRORS, PARAMS(IndexParams)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const index_t i = (index_t)GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) {
            ulong at, at2;
            STRIDED2(at, i, p.dims, p.strides, at2, p.strides2)
            const CT(IT) id = LOAD(IT, ids, p.offset2 + at2);
            ST(XT) value = 0;
            if (!IS_PADDING(id)) {
                if (IS_OUTSIDE(id, p.size)) FAIL_INDEX();
                else value = x[p.offset + at + (ulong)id * p.along];
            }
            y[i] = value;
        }
    }
}
