/* Matrices as a GPU holds them (`QTensor::gpu_weights`), sixteen weights of a row at a time. Defines:
   BITS (4, 8; 0 for floats), GROUP and SCALE (f16 or f32) of codes, WT of floats. X_SPACE is where
   the other factor lies: SHARED_P or GLOBAL. */
#define UNIT 16u
#define IS_F32_f32 1
#define IS_F32_f16 0
#define IS_F32_bf16 0
#define IS_BF16_f16 0
#define IS_BF16_bf16 1
#if BITS == 4
typedef struct { uint words[2]; float scale, offset; } unit_t;
#elif BITS == 8
typedef struct { uint words[4]; float scale, offset; } unit_t;
#elif CAT(IS_F32_, WT)
typedef struct { uint words[16]; } unit_t;
#else
typedef struct { uint words[8]; } unit_t;
#endif

/* Unit `at` of a matrix at w, counted over its rows. */
FN void unit_load(PRIVATE_P unit_t *u, GLOBAL const uchar *w, const ulong scales_at, const ulong at) {
#if BITS == 4
    LOAD_WORDS2(u->words, w, at);
#elif BITS == 8
    LOAD_WORDS4(u->words, w, at);
#elif CAT(IS_F32_, WT)
    UNROLL
    for (uint i = 0u; i < 4u; i++) LOAD_WORDS4(u->words + 4u * i, w, at * 4ul + i);
#else
    UNROLL
    for (uint i = 0u; i < 2u; i++) LOAD_WORDS4(u->words + 4u * i, w, at * 2ul + i);
#endif
#if BITS != 0
    GLOBAL const ST(SCALE) *scales = (GLOBAL const ST(SCALE) *)(w + scales_at);
    const ulong pair = at / (GROUP / UNIT) * 2ul;
    u->scale = LOAD(SCALE, scales, pair);
    u->offset = LOAD(SCALE, scales, pair + 1ul);
#endif
}

/* Weight j of a unit: its code, or its value. Codes of four bits come as 1 + code / 16, which takes
   one operation to make; `unit_dot` takes the 1 off again. */
FN float unit_code(PRIVATE_P const unit_t *u, const uint j) {
#if BITS == 4
    const uint word = u->words[j >> 3], place = (j & 7u) * 4u;
    const uint moved = place < 19u ? word << (19u - place) : word >> (place - 19u);
    return AS_FLOAT((moved & 0x00780000u) | 0x3f800000u);
#elif BITS == 8
    const uint byte = ((u->words[j >> 2] ^ 0x80808080u) >> ((j & 3u) * 8u)) & 255u;
    return AS_FLOAT(0x4b000000u | byte) - 8388736.0f;
#elif CAT(IS_F32_, WT)
    return AS_FLOAT(u->words[j]);
#elif CAT(IS_BF16_, WT)
    return AS_FLOAT((j & 1u) != 0u ? u->words[j >> 1] & 0xffff0000u : u->words[j >> 1] << 16);
#else
    return F16_BITS(u->words[j >> 1] >> ((j & 1u) * 16u));
#endif
}

/* Weight j of a unit. */
FN float unit_value(PRIVATE_P const unit_t *u, const uint j) {
#if BITS == 4
    return FMA(u->scale, (unit_code(u, j) - 1.0f) * 16.0f, u->offset);
#elif BITS == 8
    return FMA(u->scale, unit_code(u, j), u->offset);
#else
    return unit_code(u, j);
#endif
}

/* Adds the product of a unit and sixteen floats: four fours, the first at the place `first`, each
   `step` places behind the other. (Lanes that take neighbouring units read shared memory without
   conflicts where fours of one index lie side by side.) */
FN_LARGE float unit_dot(PRIVATE_P const unit_t *u, X_SPACE const float *x, const uint first, const uint step,
    const float sum) {
    float dot = 0.0f, total = 0.0f;
    UNROLL
    for (uint i = 0u; i < UNIT / 4u; i++) {
        float v[4];
        LOAD_FLOATS4(v, X_SPACE, x, first + i * step);
        UNROLL
        for (uint j = 0u; j < 4u; j++) {
            dot = FMA(unit_code(u, i * 4u + j), v[j], dot);
            total += v[j];
        }
    }
#if BITS == 4
    return FMA(16.0f * u->scale, dot, FMA(u->offset - 16.0f * u->scale, total, sum));
#elif BITS == 8
    return FMA(u->scale, dot, FMA(u->offset, total, sum));
#else
    return sum + dot;
#endif
}
