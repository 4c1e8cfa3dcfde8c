/* h = the token's row of the table, times a factor; the token is state[1]. */
KERNEL(step_embed, WG)(IN(u8, w0), IN(u32, state), OUT(f32, h), PARAMS(EmbedParams)) {
    AFTER_INPUTS();
    const uint unit = GRP_X * WG + TID;
    if (unit >= K / UNIT) return;
    unit_t u;
    unit_load(&u, w0, p.scales0, (ulong)state[1] * (K / UNIT) + unit);
    UNROLL
    for (uint j = 0u; j < UNIT; j++) h[unit * UNIT + j] = unit_value(&u, j) * p.factor;
}
