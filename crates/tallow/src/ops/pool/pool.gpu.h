/* y = the greatest element of each window, or the mean. Defines: XT, INTEGER, MEAN. */
#define T CT(XT)
KERNEL(pool, WG)(IN(XT, x), OUT(XT, y), PARAMS(PoolParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    if (i >= p.count) return;
    ulong corner;
    STRIDED(corner, (index_t)i, p.dims, p.strides)
    corner += p.offset;
#if MEAN
    T folded = (T)0;
#else
    T folded = LOAD(XT, x, corner);
#endif
    for (ulong row = 0; row < p.height; row++) {
        for (ulong column = 0; column < p.width; column++) {
            const T v = LOAD(XT, x, corner + row * p.row_stride + column * p.column_stride);
#if MEAN
            folded += v;
#elif INTEGER
            if (v > folded) folded = v;
#else
            if (v > folded || IS_NAN(v)) folded = v;
#endif
        }
    }
#if MEAN
    folded = folded / (T)(p.height * p.width);
#endif
    STORE(XT, y, i, folded);
}
