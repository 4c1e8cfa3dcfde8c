/* Attention in parts: joins what groups of threads made of parts of the positions. */
/* The share of part i % PARTS in head i / PARTS, per weight of its own. */
FN float part_share(GLOBAL const float *tops, const uint i) {
    GLOBAL const float *head = tops + i / PARTS * (2u * PARTS);
    float top = -INF, total = 0.0f;
    UNROLL
    for (uint s = 0u; s < PARTS; s++) top = fmax(top, head[2u * s]);
    UNROLL
    for (uint s = 0u; s < PARTS; s++) total += head[2u * s + 1u] * exp(head[2u * s] - top);
    return exp(head[2u * (i % PARTS)] - top) * RECIP(total);
}
