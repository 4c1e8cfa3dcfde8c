/* y = the sum of the shares of an image's element in the gradients u of the windows that it is in,
   in the windows' order: all of a maximum's for its window's first greatest element, an equal part
   of a mean's. A thread an element. Defines: XT (a float), MEAN. */
#define T CT(XT)
#if MEAN
KERNEL(pool_gradient, WG)(IN(XT, u), OUT(XT, y), PARAMS(PoolGradientParams)) {
#else
KERNEL(pool_gradient_max, WG)(IN(XT, u), IN(XT, x), OUT(XT, y), PARAMS(PoolGradientParams)) {
#endif
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    if (i >= p.count) return;
    const ulong column = i % p.columns, row = i / p.columns % p.rows;
    const ulong channel = i / p.columns / p.rows;
    const ulong batch = channel / p.channels, inner = channel - batch * p.channels;
    const ulong shares = p.offset + batch * p.strides[0] + inner * p.strides[1];
    /* Windows that start at or before the element, and are not over before it. */
    const ulong first = row < p.height ? 0ul : (row - p.height) / p.row_step + 1ul;
    const ulong left = column < p.width ? 0ul : (column - p.width) / p.column_step + 1ul;
    T sum = (T)0;
    for (ulong down = first; down < p.out_rows && down * p.row_step <= row; down++) {
        for (ulong along = left; along < p.out_columns && along * p.column_step <= column;
             along++) {
            const T share = LOAD(XT, u, shares + down * p.strides[2] + along * p.strides[3]);
#if MEAN
            sum += share / (T)(p.height * p.width);
#else
            const ulong corner = p.offset2 + batch * p.strides2[0] + inner * p.strides2[1]
                + down * p.row_step * p.strides2[2] + along * p.column_step * p.strides2[3];
            ulong found = 0;
            T best = LOAD(XT, x, corner);
            for (ulong tap = 1; tap < p.height * p.width; tap++) {
                const ulong under = tap / p.width, beside = tap - under * p.width;
                const T v = LOAD(XT, x,
                    corner + under * p.strides2[2] + beside * p.strides2[3]);
                if (v > best || (IS_NAN(v) && !IS_NAN(best))) {
                    best = v;
                    found = tap;
                }
            }
            const ulong here = (row - down * p.row_step) * p.width + column
                - along * p.column_step;
            if (found == here) sum += share;
#endif
        }
    }
    STORE(XT, y, i, sum);
}
