/* Pairs (a, b) become (a cos - b sin, a sin + b cos); a thread a pair. Defines: XT. */
#define T CT(XT)
KERNEL(rope_pairs, WG)(IN(XT, x), IN(XT, c), IN(XT, s), OUT(XT, y), PARAMS(RopeParams)) {
    AFTER_INPUTS();
    const index_t i = (index_t)GRP_X * WG + TID;
    if (i >= p.count) return;
    ulong at = p.offset, atc = p.cos_offset, ats = p.sin_offset, to = 0;
    STRIDED_WALK_(i, p.dims, at += k_ * p.strides[d_]; atc += k_ * p.cos_strides[d_];
        ats += k_ * p.sin_strides[d_]; to += k_ * p.out_strides[d_];)
    const T a = LOAD(XT, x, at), b = LOAD(XT, x, at + p.pair);
    const T cosine = LOAD(XT, c, atc), sine = LOAD(XT, s, ats);
    STORE(XT, y, to, a * cosine - b * sine);
    STORE(XT, y, to + p.pair_out, a * sine + b * cosine);
}
