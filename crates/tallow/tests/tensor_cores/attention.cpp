/* attention_flash on a processor, against sums in double. Defines: those of the kernel, of
   which PARTS is 0 unless it is given, and WG. */
#include "emulation.h"
#ifndef PARTS
#define PARTS 0
#endif
#if PARTS
#define OT f32
#else
#define OT XT
#endif
/* `params!` writes these where a device compiles the kernel. */
typedef struct {
    ulong offset, batch, head, position, feature;
} Heads;
typedef struct {
    Heads q, k, v;
    uint heads, group, q_len, kv_len, head_dim, causal, window;
    float scale, softcap;
    uint parts;
} AttentionParams;
#include "src/ops/attention/sees.gpu.h"
#include "src/ops/attention/flash.gpu.h"

/* How keys lie: row by row, feature by feature (a cache stored transposed), or with gaps. */
enum Lie { ROWS_OF_FEATURES, TRANSPOSED, GAPS };
struct Sizes {
    uint batch, heads, group, q_len, kv_len, head_dim;
};

static std::mt19937 numbers(2);
static std::uniform_real_distribution<float> uniform(-2, 2);

static AttentionParams params(Sizes s, int window, bool causal, Lie lie) {
    const ulong per_head = (ulong)s.kv_len * s.head_dim, kv_heads = s.heads / s.group;
    AttentionParams p = {};
    p.heads = s.heads;
    p.group = s.group;
    p.q_len = s.q_len;
    p.kv_len = s.kv_len;
    p.head_dim = s.head_dim;
    p.causal = causal;
    p.window = window < 0 ? 0 : window + 1;
    p.scale = 0.4f;
    p.softcap = SOFTCAP ? 2.0f : 0.0f;
    p.parts = PARTS ? 3 : 1;
    p.q = {3, (ulong)s.q_len * s.heads * s.head_dim, s.head_dim, (ulong)s.heads * s.head_dim, 1};
    p.k = {8, kv_heads * per_head, per_head, s.head_dim, 1};
    if (lie == TRANSPOSED) p.k = {5, kv_heads * per_head, per_head, 1, s.kv_len};
    if (lie == GAPS) p.k = {8, kv_heads * per_head * 2, per_head * 2, s.head_dim * 2, 1};
    p.v = p.k;
    return p;
}

/* The greatest error of a query's results. */
static double error(const AttentionParams &p, uint batch, uint head, uint position,
                    const ST(XT) *q, const ST(KT) *k, const ST(KT) *v, const ST(XT) *out) {
    const ulong from = batch * p.k.batch + head / p.group * p.k.head + p.k.offset;
    const ulong query = p.q.offset + batch * p.q.batch + head * p.q.head + position * p.q.position;
    const long own = (long)p.kv_len - p.q_len + position;
    std::vector<double> weights(p.kv_len, -INFINITY);
    double top = -INFINITY, total = 0;
    for (long key = 0; key < p.kv_len; key++) {
        if (p.causal && key > own) continue;
        if (p.window && key <= own - (long)(p.window - 1)) continue;
        double score = 0;
        for (uint d = 0; d < p.head_dim; d++)
            score += (double)LOAD(XT, q, query + d) *
                     LOAD(KT, k, from + key * p.k.position + d * p.k.feature);
        score *= p.scale;
        if (SOFTCAP) score = p.softcap * tanh(score / p.softcap);
        weights[key] = score;
        top = std::max(top, score);
    }
    for (double &weight : weights) {
        weight = weight == -INFINITY ? 0 : exp(weight - top);
        total += weight;
    }
    double worst = 0;
    for (uint d = 0; d < p.head_dim; d++) {
        double sum = 0;
        for (uint key = 0; key < p.kv_len; key++)
            sum += weights[key] * LOAD(KT, v, from + key * p.v.position + d * p.v.feature);
        const ulong at = ((batch * p.heads + head) * p.q_len + position) * p.head_dim + d;
        worst = worse(worst, fabs(LOAD(XT, out, at) - (total == 0 ? 0 : sum / total)));
    }
    return worst;
}

#if PARTS
/* The parts' sums, each with its top and its total, as one. */
static float joined(const AttentionParams &p, const std::vector<float> &sums, uint line, uint d) {
    const uint pitch = p.head_dim + 2;
    double top = -INFINITY, total = 0, sum = 0;
    for (uint part = 0; part < p.parts; part++)
        top = std::max(top, (double)sums[(line * p.parts + part) * pitch + p.head_dim]);
    for (uint part = 0; part < p.parts; part++) {
        const float *own = &sums[(line * p.parts + part) * pitch];
        const double factor = own[p.head_dim] == -INFINITY ? 0 : exp2(own[p.head_dim] - top);
        sum += own[d] * factor;
        total += own[p.head_dim + 1] * factor;
    }
    return total == 0 ? 0 : sum / total;
}
#endif

/* Queries are `size` times as large, and keys as much smaller. */
static void check(Sizes s, int window = -1, bool causal = true, Lie lie = ROWS_OF_FEATURES,
                  float size = 1) {
    if (s.head_dim > HEAD) return;
    const AttentionParams p = params(s, window, causal, lie);
    const uint kv_heads = s.heads / s.group;
    std::vector<ST(XT)> q(s.batch * s.q_len * s.heads * s.head_dim + 8), out(q.size());
    std::vector<ST(KT)> k(s.batch * kv_heads * s.kv_len * s.head_dim * 2 + 16), v(k.size());
    for (auto &number : q) STORE(XT, &number, 0, uniform(numbers) * size);
    for (auto &number : k) STORE(KT, &number, 0, uniform(numbers) / size);
    for (auto &number : v) STORE(KT, &number, 0, uniform(numbers));
    for (auto &number : out) STORE(XT, &number, 0, NAN);
    groups_of_grid = (s.q_len * s.group + ROWS - 1) / ROWS * s.batch * kv_heads * p.parts;
#if PARTS
    const uint lines = s.batch * s.q_len * s.heads;
    std::vector<float> sums(lines * p.parts * (s.head_dim + 2), NAN);
    kernel = [&] { attention_flash(q.data(), k.data(), v.data(), sums.data(), p); };
#else
    kernel = [&] { attention_flash(q.data(), k.data(), v.data(), out.data(), p); };
#endif
    for (uint at = 0; at < groups_of_grid; at++) run_group(at, WG);
#if PARTS
    for (uint at = 0; at < lines * s.head_dim; at++)
        STORE(XT, &out[at], 0, joined(p, sums, at / s.head_dim, at % s.head_dim));
#endif
    double worst = 0;
    for (uint batch = 0; batch < s.batch; batch++)
        for (uint head = 0; head < s.heads; head++)
            for (uint position = 0; position < s.q_len; position++)
                worst = worse(worst, error(p, batch, head, position, q.data(), k.data(), v.data(),
                                           out.data()));
    char what[99];
    snprintf(what, sizeof(what), "heads %u / %u, queries %u, keys %u, features %u", s.heads, s.group,
             s.q_len, s.kv_len, s.head_dim);
    /* Two terms: units of f32 as the cases of the operation count them. One: those of the dtype. */
    const double units = (4 + 0.8 * pow(s.head_dim, 1.5)) * 2;
    const bool bf16 = bf16_to_f32((ushort)PAIR(1, 0)) == 1;
    judge(what, worst, TERMS == 2 ? units * exp2(-24) : bf16 ? 1e-2 : 1e-3);
}

int main() {
    check({1, 1, 1, 1, 1, 1}, -1, false);
    check({1, 2, 1, 5, 70, 20});
    check({1, 3, 3, 90, 150, 16});
    check({2, 4, 2, 33, 65, HEAD});
    check({1, 4, 4, 80, 80, 24}, 3, true, TRANSPOSED);
    check({1, 2, 2, 5, 3, 4});
    check({1, 2, 1, 3, 0, 4});
    check({1, 3, 3, 40, 200, HEAD}, -1, false);
    check({1, 3, 1, 70, 200, HEAD}, 50);
    check({1, 2, 1, 20, 90, HEAD}, -1, true, GAPS);
    check({2, 5, 5, 3, 301, HEAD - 1});
    check({1, 2, 1, 20, 90, HEAD}, -1, true, ROWS_OF_FEATURES, 3000);
    check({1, 2, 1, 20, 90, HEAD}, -1, true, ROWS_OF_FEATURES, 1e-4f);
    return failures != 0;
}
