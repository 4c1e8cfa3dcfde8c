/* The features of a head from its parts; a group a head. For models whose parts are too many for
   every group of the next product to join. */
KERNEL(step_join, WG)(IN(f32, input), IN(f32, tops), OUT(f32, out), PARAMS(JoinParams)) {
    SHARED float shares[HEADS * PARTS];
    AFTER_INPUTS();
    const uint from = GRP_X * PARTS;
    for (uint i = from + TID; i < from + PARTS; i += WG) shares[i] = part_share(tops, i);
    BARRIER();
    for (uint d = TID; d < D; d += WG) {
        float sum = 0.0f;
        UNROLL
        for (uint s = 0u; s < PARTS; s++)
            sum = FMA(shares[from + s], input[(ulong)(from + s) * D + d], sum);
        out[GRP_X * D + d] = sum;
    }
}
