/* y[i] = x[i], two views of one shape. Defines: XT (an integer of the elements' size). */
KERNEL(concat_write, WG)(IN(XT, x), INOUT(XT, y), PARAMS(View2)) {
    AFTER_INPUTS();
#ifdef PACKED
    PACK_INDEX()
    ulong from, to;
    STRIDED2(from, i_, p.dims, p.strides, to, p.strides2)
    PACK(XT) pack;
    PACK_READ(XT, pack, x, p.offset + from, p.strides[0])
    PACK_WRITE(XT, y, p.offset2 + to, p.strides2[0], pack)
#else
    EACH_ELEMENT(
        ulong from; ulong to;
        STRIDED2(from, i_, p.dims, p.strides, to, p.strides2)
        y[p.offset2 + to] = x[p.offset + from];
    )
#endif
}
