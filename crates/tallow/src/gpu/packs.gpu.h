/* EACH neighbours, loaded and stored at once: PACK(dt) is the type, PACK_LOAD and PACK_STORE
   move the one at p + i, whose address is a multiple of its size. Defines: EACH. */
#define PACK_TYPE_(dt, T) typedef struct ALIGNED(EACH * sizeof(T)) { T v[EACH]; } CAT(pack_, dt);
PACK_TYPE_(f32, float)
PACK_TYPE_(f16, ushort)
PACK_TYPE_(bf16, ushort)
PACK_TYPE_(f8e4m3, uchar)
PACK_TYPE_(u8, uchar)
PACK_TYPE_(u32, uint)
PACK_TYPE_(i16, short)
PACK_TYPE_(i32, int)
PACK_TYPE_(i64, st_i64)
#ifdef HAS_F64
PACK_TYPE_(f64, double)
#endif
#define PACK(dt) CAT(pack_, dt)
#define PACK_GET(dt, pack, j) LOAD(dt, (PRIVATE_P const ST(dt) *)(pack).v, j)
#define PACK_SET(dt, pack, j, value) STORE(dt, (PRIVATE_P ST(dt) *)(pack).v, j, value)
#ifdef TARGET_METAL
/* Structs are not copied between address spaces as wholes. */
#define PACK_COPY_(to, from)                                                \
    UNROLL                                                                  \
    for (uint e_ = 0u; e_ < EACH; e_++) (to).v[e_] = (from).v[e_];
#else
#define PACK_COPY_(to, from) (to) = (from);
#endif
#define PACK_LOAD(dt, pack, p, i) { PACK_COPY_(pack, *(GLOBAL const PACK(dt) *)((p) + (i))) }
#define PACK_STORE(dt, p, i, pack) { PACK_COPY_(*(GLOBAL PACK(dt) *)((p) + (i)), pack) }
