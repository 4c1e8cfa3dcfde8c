/* The largest of the groups' best, the first on a tie: state = position + 1, its row, 1 if it is no
   finite number. */
KERNEL(step_pick, WG)(IN(f32, best), INOUT(u32, state), PARAMS(PickParams)) {
    SHARED float tops[2u * (WG / 32u)];
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    float top = -INF, at = 0.0f;
    for (uint i = TID; i < p.count; i += WG) {
        TAKE_LARGER(top, at, best[2u * i], best[2u * i + 1u])
    }
    LARGEST_OF_GROUP(top, at, 1u)
    if (TID == 0u) {
        state[0] += 1u;
        state[1] = (uint)at;
        state[2] = top == INF || top == -INF ? 1u : 0u;
    }
}
