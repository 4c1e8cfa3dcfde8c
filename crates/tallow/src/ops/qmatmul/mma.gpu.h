/* out[m, n] = x[m, k] W[n, k]^T on tensor cores. Numbers of x and W become two bf16 terms each on
   their way into shared memory, and the products hi hi, lo hi and hi lo are summed in f32, so that a
   product is off by 2^-15 of itself at most. While a step of 32 along k is multiplied, the next is on
   its way into registers. Defines: BITS, GROUP, SCALE, WT as in qmatmul.gpu.h; W_TERMS 1 where W is
   bf16 already. */
#define STEP 32u
#define ROWS_ 2u
/* Eight neighbours of a row of W as they lie: codes or floats, and the pair of scale and offset. */
FN void qmma_weights(uint *raw, const uchar *w, uint row, uint i, QMatMulParams p) {
    UNROLL
    for (uint c = 0u; c < 6u; c++) raw[c] = 0u;
    if (row >= p.n || i >= p.k) return;
    const ulong at = (ulong)row * p.k + i;
#if BITS == 0
    if ((p.k & 7u) == 0u) {
        const uint4 v = *(const uint4 *)(w + at * 2ul);
        raw[0] = v.x;
        raw[1] = v.y;
        raw[2] = v.z;
        raw[3] = v.w;
    } else {
        UNROLL
        for (uint j = 0u; j < 8u; j++)
            if (i + j < p.k) raw[j >> 1] |= (uint)((const ushort *)w)[at + j] << (16u * (j & 1u));
    }
#else
#if BITS == 4
    raw[0] = *(const uint *)(w + (at >> 1));
#else
    const uint2 v = *(const uint2 *)(w + at);
    raw[0] = v.x;
    raw[1] = v.y;
#endif
    if (sizeof(ST(SCALE)) == 2) {
        raw[4] = ((const uint *)(w + p.scales_at))[at / GROUP];
    } else {
        const uint2 s = ((const uint2 *)(w + p.scales_at))[at / GROUP];
        raw[4] = s.x;
        raw[5] = s.y;
    }
#endif
}
/* The same as numbers. A code becomes one through the mantissa of 2^23. */
FN void qmma_numbers(float *v, const uint *raw) {
#if BITS == 0
    UNROLL
    for (uint j = 0u; j < 8u; j++) {
        const ushort half[1] = {(ushort)(raw[j >> 1] >> (16u * (j & 1u)))};
        v[j] = LOAD(WT, half, 0);
    }
#else
    const bool halves = sizeof(ST(SCALE)) == 2;
    const float scale = halves ? f16_to_f32_((ushort)(raw[4] & 0xffffu)) : AS_FLOAT(raw[4]);
    const float shift = halves ? f16_to_f32_((ushort)(raw[4] >> 16)) : AS_FLOAT(raw[5]);
    UNROLL
    for (uint j = 0u; j < 8u; j++) {
#if BITS == 4
        const float code = AS_FLOAT(0x4b000000u | ((raw[0] >> (4u * j)) & 15u)) - 8388608.0f;
#else
        const uint byte = ((raw[j >> 2] ^ 0x80808080u) >> (8u * (j & 3u))) & 255u;
        const float code = AS_FLOAT(0x4b000000u | byte) - 8388736.0f;
#endif
        v[j] = FMA(scale, code, shift);
    }
#endif
}
/* Eight neighbours of a row of x; `whole` if runs of four are aligned. */
FN void qmma_row(float *v, const float *x, uint row, uint i, bool whole, QMatMulParams p) {
    UNROLL
    for (uint j = 0u; j < 8u; j++) v[j] = 0.0f;
    if (row >= p.m) return;
    const float *from = x + p.offset + (ulong)row * p.k + i;
    UNROLL
    for (uint h = 0u; h < 8u; h += 4u) {
        if (whole && i + h < p.k) {
            const float4 f = *(const float4 *)(from + h);
            v[h] = f.x;
            v[h + 1u] = f.y;
            v[h + 2u] = f.z;
            v[h + 3u] = f.w;
        } else {
            UNROLL
            for (uint j = h; j < h + 4u; j++)
                if (i + j < p.k) v[j] = from[j];
        }
    }
}
FN void qmma_store(uint4 *hi, uint4 *lo, const float *v) {
    uint h[4], l[4];
    UNROLL
    for (uint j = 0u; j < 4u; j++) mma_terms(v[2u * j], v[2u * j + 1u], &h[j], &l[j]);
    *hi = make_uint4(h[0], h[1], h[2], h[3]);
    if (lo != 0) *lo = make_uint4(l[0], l[1], l[2], l[3]);
}
#if WG == 256
#define TILE 128u
#define COLUMNS_ 4u
#define STAGES 1u
KERNEL(qmatmul_mma_wide, WG)(IN(u8, w), IN(f32, x), OUT(f32, out), PARAMS(QMatMulParams))
#else
#define TILE 64u
#define COLUMNS_ 2u
#define STAGES 2u
KERNEL(qmatmul_mma, WG)(IN(u8, w), IN(f32, x), OUT(f32, out), PARAMS(QMatMulParams))
#endif
/* A subgroup has MT x NT products of 16 x 8; a thread brings UNITS chunks of eight of x and of W. */
#define MT (TILE / ROWS_ / 16u)
#define NT (TILE / COLUMNS_ / 8u)
#define UNITS (TILE * 4u / WG)
#define PART (TILE * 4u)
#define X_HI 0u
#define X_LO PART
#define W_HI (2u * PART)
#define W_LO (3u * PART)
{
    SHARED uint4 tiles[STAGES * 4u * PART];
    const uint t = TID, lane = SG_LANE;
    const uint n0 = (GRP_X % p.tiles_n) * TILE, m0 = (GRP_X / p.tiles_n) * TILE;
    const uint warp_m = SG_ID / COLUMNS_ * (TILE / ROWS_), warp_n = SG_ID % COLUMNS_ * (TILE / COLUMNS_);
    const uint unit = (t & 3u) * 8u;
    const bool whole = ((p.k | (uint)p.offset) & 3u) == 0u;
    float left[UNITS][8];
    uint right[UNITS][6];
    float sum[MT][NT][4];
    UNROLL
    for (uint i = 0u; i < MT; i++) {
        UNROLL
        for (uint j = 0u; j < NT; j++) {
            UNROLL
            for (uint c = 0u; c < 4u; c++) sum[i][j][c] = 0.0f;
        }
    }
    UNROLL
    for (uint s = 0u; s < UNITS; s++) qmma_weights(right[s], w, n0 + (t >> 2) + s * (WG / 4u), unit, p);
    AFTER_INPUTS();
    UNROLL
    for (uint s = 0u; s < UNITS; s++)
        qmma_row(left[s], x, m0 + (t >> 2) + s * (WG / 4u), unit, whole, p);
    uint stage = 0u;
    for (uint k0 = 0u; k0 < p.k; k0 += STEP) {
        uint4 *at = tiles + stage * 4u * PART;
        if (STAGES == 1u) BARRIER();
        UNROLL
        for (uint s = 0u; s < UNITS; s++) {
            const uint place = MMA_CHUNK((t >> 2) + s * (WG / 4u), t & 3u);
            qmma_store(at + X_HI + place, at + X_LO + place, left[s]);
            float weights[8];
            qmma_numbers(weights, right[s]);
            qmma_store(at + W_HI + place, W_TERMS == 2u ? at + W_LO + place : 0, weights);
        }
        BARRIER();
        if (k0 + STEP < p.k) {
            UNROLL
            for (uint s = 0u; s < UNITS; s++) {
                const uint row = (t >> 2) + s * (WG / 4u);
                qmma_weights(right[s], w, n0 + row, k0 + STEP + unit, p);
                qmma_row(left[s], x, m0 + row, k0 + STEP + unit, whole, p);
            }
        }
        UNROLL
        for (uint h = 0u; h < 2u; h++) {
            uint high[NT][2], low[NT][2];
            UNROLL
            for (uint j = 0u; j < NT; j += 2u) {
                /* Columns 0 to 7 at both halves of 16, then columns 8 to 15. */
                const uint row = warp_n + j * 8u + (lane & 7u) + (lane >> 4) * 8u;
                const uint place = MMA_CHUNK(row, h * 2u + ((lane >> 3) & 1u));
                mma_load(high[j], at + W_HI + place);
                if (W_TERMS == 2u) mma_load(low[j], at + W_LO + place);
            }
            UNROLL
            for (uint i = 0u; i < MT; i++) {
                uint a[4], b[4];
                const uint row = warp_m + i * 16u + (lane & 15u);
                const uint place = MMA_CHUNK(row, h * 2u + (lane >> 4));
                mma_load(a, at + X_HI + place);
                mma_load(b, at + X_LO + place);
                UNROLL
                for (uint j = 0u; j < NT; j++) mma_bf16(sum[i][j], b, high[j]);
                if (W_TERMS == 2u) {
                    UNROLL
                    for (uint j = 0u; j < NT; j++) mma_bf16(sum[i][j], a, low[j]);
                }
                UNROLL
                for (uint j = 0u; j < NT; j++) mma_bf16(sum[i][j], a, high[j]);
            }
        }
        stage = STAGES == 1u ? 0u : stage ^ 1u;
    }
    UNROLL
    for (uint i = 0u; i < MT; i++) {
        UNROLL
        for (uint r = 0u; r < 2u; r++) {
            const uint m = m0 + warp_m + i * 16u + r * 8u + (lane >> 2);
            UNROLL
            for (uint j = 0u; j < NT; j++) {
                const uint n = n0 + warp_n + j * 8u + (lane & 3u) * 2u;
                const ulong to = (ulong)m * p.n + n;
                if (m < p.m && n < p.n) out[to] = sum[i][j][2u * r];
                if (m < p.m && n + 1u < p.n) out[to + 1ul] = sum[i][j][2u * r + 1u];
            }
        }
    }
}
