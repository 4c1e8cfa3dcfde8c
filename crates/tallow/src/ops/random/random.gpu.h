/* Random numbers, a Philox4x32-10 block a thread: mod.rs and philox.rs say which element is which
   word. The state is seed and number of the next block. Defines: YT, WIDE (1 for f64), NORMAL. */
#define T CT(YT)
KERNEL(random_draw, WG)(IN(u32, state), OUT(YT, y), PARAMS(RandomParams)) {
    AFTER_INPUTS();
    const ulong block = (ulong)GRP_X * WG + TID;
    const ulong number = ((ulong)state[2] | ((ulong)state[3] << 32)) + block;
    uint w[4] = {(uint)number, (uint)(number >> 32), 0u, 0u};
    uint key0 = state[0], key1 = state[1];
    for (uint round = 0u; round < 10u; round++) {
        const uint left = MULHI(0xd2511f53u, w[0]), left_low = 0xd2511f53u * w[0];
        const uint right = MULHI(0xcd9e8d57u, w[2]), right_low = 0xcd9e8d57u * w[2];
        w[0] = right ^ w[1] ^ key0;
        w[1] = right_low;
        w[2] = left ^ w[3] ^ key1;
        w[3] = left_low;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    T v[4];
    UNROLL
    for (uint pair = 0u; pair < 4u; pair += 2u) {
#if WIDE
        const double u = (double)(((ulong)w[pair] << 21) ^ (ulong)(w[pair + 1u] >> 11))
            * 1.1102230246251565e-16;
        v[pair / 2u] = u;
#elif NORMAL
        const float u = ((float)w[pair] + 0.5f) * 2.3283064365386963e-10f;
        const float angle = (float)(w[pair + 1u] >> 8) * (5.9604644775390625e-8f * 6.2831855f);
        const float radius = sqrt(log(u) * -2.0f);
        v[pair] = fma(radius * cos(angle), p.b, p.a);
        v[pair + 1u] = fma(radius * sin(angle), p.b, p.a);
#else
        v[pair] = fma((float)(w[pair] >> 8) * 5.9604644775390625e-8f, p.b, p.a);
        v[pair + 1u] = fma((float)(w[pair + 1u] >> 8) * 5.9604644775390625e-8f, p.b, p.a);
#endif
    }
#if WIDE
    const double a = AS_DOUBLE(p.a_double), b = AS_DOUBLE(p.b_double);
    const double limit = AS_DOUBLE(p.limit_double);
#if NORMAL
    const double radius = sqrt(-2.0 * log(1.0 - v[0])) * b, angle = 6.283185307179586 * v[1];
    v[0] = radius * cos(angle) + a;
    v[1] = radius * sin(angle) + a;
#else
    v[0] = v[0] * b + a;
    v[1] = v[1] * b + a;
#endif
#else
    const float limit = p.limit;
#endif
    UNROLL
    for (uint k = 0u; k < (WIDE ? 2u : 4u); k++) {
        const ulong i = block * (WIDE ? 2ul : 4ul) + k;
        if (i < p.count) {
            STORE(YT, y, i, v[k]);
#if !NORMAL
            /* Rounding may have reached the bound, which no number does. */
            if (LOAD(YT, y, i) > limit) STORE(YT, y, i, limit);
#endif
        }
    }
}
