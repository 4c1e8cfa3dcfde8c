/* Convolutions, a thread a result, sums in f32 (f64 for f64). An output o and a tap t meet at the
   image's place o * step + t * dilation - padding; see geometry.rs. KIND 0 gives y of x and w, 1
   gives x of y and w; the places of a result along the three dimensions come packed in one
   number: 16, 16 and 32 bits. KIND 2 gives w of x and y, a group a result: the sum over batches
   and outputs. Defines: XT, KIND. */
#define T CT(XT)
#define SIGNED_(v) ((ct_i64)(v))
#if KIND == 0
/* The image's place, or the next tap if there is none. */
#define CONV_PLACE(q, d, t)                                                 \
    const ct_i64 q##_ = SIGNED_(here[d] * p.step[d] + (t) * p.dilation[d])  \
        - SIGNED_(p.padding[d]);                                            \
    if (q##_ < 0 || q##_ >= SIGNED_(p.source[d])) continue;                 \
    const ulong q = (ulong)q##_;
#elif KIND == 1
/* The output's place that meets the image's at this tap. */
#define CONV_PLACE(q, d, t)                                                 \
    const ct_i64 q##_ = SIGNED_(here[d] + p.padding[d]) - SIGNED_((t) * p.dilation[d]); \
    if (q##_ < 0 || (ulong)q##_ % p.step[d] != 0ul) continue;               \
    const ulong q = (ulong)q##_ / p.step[d];                                \
    if (q >= p.source[d]) continue;
#endif
#if KIND != 2
KERNEL(conv_direct, WG)(IN(XT, a), IN(XT, w), OUT(XT, y), PARAMS(ConvParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    if (i >= p.count) return;
    ulong at, at2, packed;
    STRIDED3(at, (index_t)i, p.dims, p.strides, at2, p.strides2, packed, p.strides3)
    at += p.offset;
    at2 += p.offset2;
    const ulong here[3] = {packed >> 48, (packed >> 32) & 0xfffful, packed & 0xfffffffful};
    T sum = (T)0;
    for (ulong channel = 0; channel < p.channels; channel++) {
        for (ulong t0 = 0; t0 < p.taps[0]; t0++) {
            CONV_PLACE(q0, 0, t0)
            for (ulong t1 = 0; t1 < p.taps[1]; t1++) {
                CONV_PLACE(q1, 1, t1)
                for (ulong t2 = 0; t2 < p.taps[2]; t2++) {
                    CONV_PLACE(q2, 2, t2)
                    const T v = LOAD(XT, a, at + q0 * p.source_strides[0]
                        + q1 * p.source_strides[1] + q2 * p.source_strides[2]);
                    const T f = LOAD(XT, w, at2 + t0 * p.tap_strides[0]
                        + t1 * p.tap_strides[1] + t2 * p.tap_strides[2]);
                    sum += v * f;
                }
            }
        }
        at += p.channel_stride;
        at2 += p.channel_stride2;
    }
    STORE(XT, y, i, sum);
}
#else
KERNEL(conv_kernel, WG)(IN(XT, x), IN(XT, u), OUT(XT, y), PARAMS(ConvParams)) {
    SHARED T part[WG];
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X;
    ulong at, at2, packed;
    STRIDED3(at, (index_t)i, p.dims, p.strides, at2, p.strides2, packed, p.strides3)
    at += p.offset;
    at2 += p.offset2;
    const ulong taps[3] = {packed >> 48, (packed >> 32) & 0xfffful, packed & 0xfffffffful};
    const ulong outs = p.outs[0] * p.outs[1] * p.outs[2];
    T sum = (T)0;
    for (ulong j = TID; j < p.channels * outs; j += WG) {
        const ulong batch = j / outs, o = j - batch * outs;
        const ulong o2 = o % p.outs[2], o01 = o / p.outs[2];
        const ulong o1 = o01 % p.outs[1], o0 = o01 / p.outs[1];
        const ct_i64 q0 = SIGNED_(o0 * p.step[0] + taps[0] * p.dilation[0]) - SIGNED_(p.padding[0]);
        const ct_i64 q1 = SIGNED_(o1 * p.step[1] + taps[1] * p.dilation[1]) - SIGNED_(p.padding[1]);
        const ct_i64 q2 = SIGNED_(o2 * p.step[2] + taps[2] * p.dilation[2]) - SIGNED_(p.padding[2]);
        if (q0 < 0 || q0 >= SIGNED_(p.source[0]) || q1 < 0 || q1 >= SIGNED_(p.source[1])
            || q2 < 0 || q2 >= SIGNED_(p.source[2])) continue;
        const T v = LOAD(XT, x, at + batch * p.channel_stride + (ulong)q0 * p.source_strides[0]
            + (ulong)q1 * p.source_strides[1] + (ulong)q2 * p.source_strides[2]);
        const T f = LOAD(XT, u, at2 + batch * p.channel_stride2 + o0 * p.tap_strides[0]
            + o1 * p.tap_strides[1] + o2 * p.tap_strides[2]);
        sum += v * f;
    }
    part[TID] = sum;
    BARRIER();
    for (uint half_ = WG / 2; half_ > 0u; half_ >>= 1) {
        if (TID < half_) part[TID] += part[TID + half_];
        BARRIER();
    }
    if (TID == 0u) STORE(XT, y, i, part[0]);
}
#endif
