/* Sums and maxima over a group: every thread gets the result. `part` is SHARED float[WG / 32]; all
   threads come to these together, and a barrier stands between two uses of one `part`.
   max_nan gives NaN if either is. */
FN float max_nan(float a, float b) { return (IS_NAN(a) || a > b) ? a : b; }
FN float min_nan(float a, float b) { return (IS_NAN(a) || a < b) ? a : b; }
#define GROUP_SUM(result, value, part)                                   \
    {                                                                    \
        const float s_ = SG_SUM(value);                                  \
        if (SG_LANE == 0u) (part)[SG_ID] = s_;                           \
        BARRIER();                                                       \
        result = 0.0f;                                                   \
        for (uint i_ = 0u; i_ < WG / 32; i_++) result += (part)[i_];     \
    }
#define GROUP_MAX(result, value, part)                                   \
    {                                                                    \
        const float s_ = SG_MAX(value);                                  \
        if (SG_LANE == 0u) (part)[SG_ID] = s_;                           \
        BARRIER();                                                       \
        result = (part)[0];                                              \
        for (uint i_ = 1u; i_ < WG / 32; i_++) result = fmax(result, (part)[i_]); \
    }
