/* Elements of x to the places in y that indexes name, in order. A thread owns all of y along the
   indexed dimension (a column), or one element of it; no other touches that, so that the order is
   the row-major one. Defines: IT, PADDING, XT, ZT (x's dtype), ADD, INTEGER, OWNS_COLUMN. */
#define T CT(XT)
#if !ADD
#define SCATTER_VALUE(old, new) (new)
#elif INTEGER
#define SCATTER_VALUE(old, new) ((T)((ulong)(old) + (ulong)(new)))
#else
#define SCATTER_VALUE(old, new) ((old) + (new))
#endif

KERNEL(scatter, WG)(INOUT(XT, y), IN(IT, ids), IN(ZT, x), ERRORS, PARAMS(ScatterParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    ulong at, at2, at3;
#if OWNS_COLUMN
    if (i >= p.columns) return;
    STRIDED3(at, (index_t)i, p.dims, p.strides, at2, p.strides2, at3, p.strides3)
    at += p.offset;
#else
    const ulong place = i / p.columns;
    if (place >= p.size) return;
    STRIDED3(at, (index_t)(i - place * p.columns), p.dims, p.strides, at2, p.strides2, at3,
        p.strides3)
    at += p.offset + place * p.along;
    T value = LOAD(XT, y, at);
#endif
    at2 += p.offset2;
    at3 += p.offset3;
    for (ulong k = 0; k < p.length; k++) {
        const CT(IT) id = LOAD(IT, ids, at2 + k * p.along2);
        if (IS_PADDING(id)) continue;
        if (IS_OUTSIDE(id, p.size)) {
            FAIL_INDEX();
            continue;
        }
#if OWNS_COLUMN
        const ulong to = at + (ulong)id * p.along;
        const T old = LOAD(XT, y, to);
        const T new_ = (T)LOAD(ZT, x, at3 + k * p.along3);
        STORE(XT, y, to, SCATTER_VALUE(old, new_));
#else
        if ((ulong)id == place) {
            const T new_ = (T)LOAD(ZT, x, at3 + k * p.along3);
            value = SCATTER_VALUE(value, new_);
        }
#endif
    }
#if !OWNS_COLUMN
    STORE(XT, y, at, value);
#endif
}
