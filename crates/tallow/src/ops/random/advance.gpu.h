/* The number of the next block, after so many: words 2 and 3, low first. */
KERNEL(random_advance, WG)(INOUT(u32, state), PARAMS(RandomParams)) {
    AFTER_INPUTS();
    if (TID == 0u) {
        const ulong next = ((ulong)state[2] | ((ulong)state[3] << 32)) + p.blocks;
        state[2] = (uint)next;
        state[3] = (uint)(next >> 32);
    }
}
