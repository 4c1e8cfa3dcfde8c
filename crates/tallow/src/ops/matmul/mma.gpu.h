/* Tensor cores, CUDA only (sm_80 and later). A subgroup of 32 lanes does m16n8k16: operands of bf16
   or f16, sums in f32. Shared memory holds operands in chunks of eight (16 bytes), the inner size along a
   row. Which lane holds what (PTX ISA, "Matrix fragments for mma.m16n8k16"), with g = lane / 4 and
   i = lane % 4, each register two neighbours along the inner size:
     a[0] row g,     inner 2i      a[2] row g,     inner 2i + 8
     a[1] row g + 8, inner 2i      a[3] row g + 8, inner 2i + 8
     b[0] column g,  inner 2i      b[1] column g,  inner 2i + 8
     c[0], c[1] row g, columns 2i, 2i + 1; c[2], c[3] row g + 8 */
#ifndef MMA_EMULATED
FN void mma_bf16(float *c, const uint *a, const uint *b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
FN void mma_f16(float *c, const uint *a, const uint *b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* Four 8 x 8 matrices: lane l names row l % 8 of matrix l / 8, and gets of each matrix the two
   neighbours 2i of row g; of a turned one the two neighbours 2i of column g. */
FN void mma_load(uint *r, const uint4 *chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"((uint)__cvta_generic_to_shared(chunk)) : "memory");
}
FN void mma_load_turned(uint *r, const uint4 *chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"((uint)__cvta_generic_to_shared(chunk)) : "memory");
}
/* Two numbers, rounded to nearest; a in the lower half. */
FN uint mma_pair_bf16(float a, float b) {
    uint pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    return pair;
}
FN uint mma_pair_f16(float a, float b) {
    uint pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    return pair;
}
/* Sixteen bytes on their way into shared memory, of which the first `bytes` are read and the rest are
   zeros; all copies so far as one group; the thread's own groups but the last n are there. */
FN void mma_copy(uint4 *to, const void *from, uint bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
        :: "r"((uint)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
}
FN void mma_copies_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define MMA_COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#endif
/* Two numbers as two bf16 terms each: hi is the number rounded, lo what is missing, rounded. Their
   sum is off by 2^-17 of the number at most. */
FN void mma_terms(float a, float b, uint *hi, uint *lo) {
    *hi = mma_pair_bf16(a, b);
    *lo = mma_pair_bf16(a - AS_FLOAT(*hi << 16), b - AS_FLOAT(*hi & 0xffff0000u));
}
/* The same in f16, of numbers whose size suits it. */
FN void mma_terms_f16(float a, float b, uint *hi, uint *lo) {
    *hi = mma_pair_f16(a, b);
    *lo = mma_pair_f16(a - f16_to_f32_((ushort)(*hi & 0xffffu)), b - f16_to_f32_((ushort)(*hi >> 16)));
}
/* Chunk `at` of a row of four: the order in which eight rows, and the four chunks of two rows, meet
   all banks. */
#define MMA_CHUNK(row, at) ((row) * 4u + ((at) ^ (((row) >> 1) & 3u)))
