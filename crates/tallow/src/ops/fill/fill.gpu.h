/* y[i] = the value, over a view. Defines: XT (an integer of the elements' size). */
KERNEL(fill_value, WG)(INOUT(XT, y), PARAMS(FillParams)) {
    AFTER_INPUTS();
#ifdef PACKED
    PACK_INDEX()
    ulong at;
    STRIDED(at, i_, p.dims, p.strides)
    PACK(XT) pack;
    UNROLL
    for (uint k = 0u; k < EACH; k++) pack.v[k] = (ST(XT))p.bits;
    PACK_WRITE(XT, y, p.offset + at, p.strides[0], pack)
#else
    EACH_ELEMENT(
        ulong at;
        STRIDED(at, i_, p.dims, p.strides)
        y[p.offset + at] = (ST(XT))p.bits;
    )
#endif
}
