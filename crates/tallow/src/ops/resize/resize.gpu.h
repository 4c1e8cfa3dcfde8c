/* Images resized along tables: place q of a dimension reads element low[q], and low[q] + 1 with
   weight[q]. Rows' entries come first, then columns'. GRADIENT: y = what the places of the gradient
   u give back to each element; tables rise, so that they are found by halving. Defines: XT, WT (of
   the weights), NEAREST, GRADIENT. */
#define T CT(XT)
#if !GRADIENT
KERNEL(resize, WG)(IN(XT, x), IN(u32, lows), IN(WT, weights), OUT(XT, y), PARAMS(ResizeParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    if (i >= p.count) return;
    const ulong column = i % p.columns, row = i / p.columns % p.rows;
    const ulong channel = i / p.columns / p.rows;
    const ulong batch = channel / p.channels;
    const ulong low = lows[row], left = lows[p.rows + column];
    const ulong at = p.offset + batch * p.strides[0] + (channel - batch * p.channels) * p.strides[1]
        + low * p.strides[2] + left * p.strides[3];
#if NEAREST
    y[i] = x[at];
#else
    const T down = LOAD(WT, weights, row), along = LOAD(WT, weights, p.rows + column);
    T above = LOAD(XT, x, at);
    if (along > (T)0) {
        above = ((T)1 - along) * above + along * LOAD(XT, x, at + p.strides[3]);
    }
    if (down > (T)0) {
        T below = LOAD(XT, x, at + p.strides[2]);
        if (along > (T)0) {
            below = ((T)1 - along) * below + along * LOAD(XT, x, at + p.strides[2] + p.strides[3]);
        }
        above = ((T)1 - down) * above + down * below;
    }
    STORE(XT, y, i, above);
#endif
}
#else
/* The first of a table's entries that is at least `least`. */
#define RESIZE_FIRST(found, from, size, least)                              \
    ulong found = 0;                                                        \
    {                                                                       \
        ulong end_ = (size);                                                \
        while (found < end_) {                                              \
            const ulong middle_ = (found + end_) / 2ul;                     \
            if ((ulong)lows[(from) + middle_] < (least)) found = middle_ + 1ul; \
            else end_ = middle_;                                            \
        }                                                                   \
    }
#define RESIZE_SHARE(at, element)                                           \
    ((ulong)lows[at] == (element) ? (T)1 - LOAD(WT, weights, at) : LOAD(WT, weights, at))

KERNEL(resize_gradient, WG)(IN(XT, u), IN(u32, lows), IN(WT, weights), OUT(XT, y),
    PARAMS(ResizeParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    if (i >= p.count) return;
    const ulong column = i % p.width, row = i / p.width % p.height;
    const ulong channel = i / p.width / p.height;
    const ulong batch = channel / p.channels;
    const ulong at = p.offset + batch * p.strides[0]
        + (channel - batch * p.channels) * p.strides[1];
    RESIZE_FIRST(top, 0ul, p.rows, row == 0ul ? 0ul : row - 1ul)
    RESIZE_FIRST(left, p.rows, p.columns, column == 0ul ? 0ul : column - 1ul)
    T sum = (T)0;
    for (ulong r = top; r < p.rows && (ulong)lows[r] <= row; r++) {
        const T down = RESIZE_SHARE(r, row);
        if (down == (T)0) continue;
        for (ulong c = left; c < p.columns && (ulong)lows[p.rows + c] <= column; c++) {
            const T along = RESIZE_SHARE(p.rows + c, column);
            if (along == (T)0) continue;
            sum += down * along * LOAD(XT, u, at + r * p.strides[2] + c * p.strides[3]);
        }
    }
    STORE(XT, y, i, sum);
}
#endif
