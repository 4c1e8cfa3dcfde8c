/* Indexes. Defines: IT (their dtype), PADDING (32 or 64 where the greatest u32 or i64 names
   nothing, else 0). */
#if PADDING == 32
#define IS_PADDING(id) ((id) == 0xffffffffu)
#elif PADDING == 64
#define IS_PADDING(id) ((ulong)(id) == 0x7ffffffffffffffful)
#else
#define IS_PADDING(id) 0
#endif
/* Negative ones become too large. */
#define IS_OUTSIDE(id, size) ((ulong)(id) >= (size))
