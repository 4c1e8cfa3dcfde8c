/* The largest of the groups' best, the first on a tie: state = position + 1, its row, 1 if it is no
   finite number. */
KERNEL(step_pick, WG)(IN(f32, best), INOUT(u32, state), PARAMS(PickParams)) {
    SHARED float tops[2u * (WG / 32u)];
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    float top = -INF, at = 0.0f;
    for (uint i = TID; i < p.count; i += WG) {
        const float other = best[2u * i], other_at = best[2u * i + 1u];
        if (other > top || (other == top && other_at < at)) {
            top = other;
            at = other_at;
        }
    }
    UNROLL
    for (uint m = 16u; m > 0u; m >>= 1) {
        const float other = SG_SHUFFLE_XOR(top, m), other_at = SG_SHUFFLE_XOR(at, m);
        if (other > top || (other == top && other_at < at)) {
            top = other;
            at = other_at;
        }
    }
    if (SG_LANE == 0u) {
        tops[SG_ID * 2u] = top;
        tops[SG_ID * 2u + 1u] = at;
    }
    BARRIER();
    if (TID == 0u) {
        for (uint i = 1u; i < WG / 32u; i++) {
            const float other = tops[2u * i], other_at = tops[2u * i + 1u];
            if (other > top || (other == top && other_at < at)) {
                top = other;
                at = other_at;
            }
        }
        state[0] += 1u;
        state[1] = (uint)at;
        state[2] = top == INF || top == -INF ? 1u : 0u;
    }
}
