/* The keys that a query position sees: up to sees_end, from sees_from on. The last query stands at the
   last key; queries before the first key see nothing. */
FN uint sees_past(uint position, AttentionParams p) {
    const uint own = p.kv_len + position + 1u;
    return own > p.q_len ? own - p.q_len : 0u;
}
FN uint sees_end(uint position, AttentionParams p) {
    return p.causal != 0u ? sees_past(position, p) : p.kv_len;
}
FN uint sees_from(uint position, AttentionParams p) {
    const uint past = sees_past(position, p), end = sees_end(position, p);
    const uint from = p.window != 0u && past + 1u > p.window ? past + 1u - p.window : 0u;
    return from < end ? from : end;
}
