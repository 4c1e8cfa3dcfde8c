/* The keys that a query position sees: up to SEES_END, from SEES_FROM on. The last query stands at the
   last key; queries before the first key see nothing. */
FN uint sees_past_(uint position, uint kv_len, uint q_len) {
    const uint own = kv_len + position + 1u;
    return own > q_len ? own - q_len : 0u;
}
FN uint sees_from_(uint past, uint end, uint window) {
    const uint from = window != 0u && past + 1u > window ? past + 1u - window : 0u;
    return from < end ? from : end;
}
#define SEES_PAST_(position) sees_past_((position), p.kv_len, p.q_len)
#define SEES_END(position) (p.causal != 0u ? SEES_PAST_(position) : p.kv_len)
#define SEES_FROM(position) sees_from_(SEES_PAST_(position), SEES_END(position), p.window)
