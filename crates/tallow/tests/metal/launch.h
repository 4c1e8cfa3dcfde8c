/* One launch of a kernel, whose text stands before this: ENTRY, groups of WG threads.

   Comes in: words of 8 bytes (groups along three dimensions, bytes of params, count of buffers; for
   each its size, where what is used starts and ends, whether it is read, whether it is written),
   params, and the used bytes of each buffer that is read. Goes out: those of each that is written.
   What is not used, and what is only written, is filled with what is no number, and must stay as it
   is outside. */
#undef kernel
#undef device
#undef constant
#undef threadgroup
#undef thread

/* Shared memory that every device has. */
const ulong SHARED_MAX = 32 << 10;
const int FILL = 0xff;
/* Before and behind each buffer. */
const ulong MARGIN = 4096;
extern "C" __attribute__((weak)) uchar __start_shared_memory, __stop_shared_memory;

struct Bound {
    uchar *bytes;
    ulong size, from, to, is_read, is_written;
};
static Bound bound[32];
alignas(16) static uchar params[4096];
static uint3 groups, group;

/* Gives a kernel's arguments one after the other, by their types. */
struct Arguments {
    uint buffers = 0, places = 0, numbers = 0;
    template <class A> A next() {
        if constexpr (std::is_pointer_v<A>) {
            return (A)bound[buffers++].bytes;
        } else if constexpr (std::is_reference_v<A>) {
            return *(std::remove_reference_t<A> *)params;
        } else if constexpr (std::is_same_v<A, uint3>) {
            const uint3 all[3] = {{(uint)current, 0, 0}, group, groups};
            return all[places++];
        } else {
            return (uint)(numbers++ == 0 ? current % 32 : current / 32);
        }
    }
};
template <class... A> static void call(void (*entry)(A...)) {
    Arguments arguments;
    std::apply(entry, std::tuple<A...>{arguments.next<A>()...});
}
static void run_thread() { call(ENTRY); }

static void take(void *to, ulong bytes) {
    if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) fail("less came in than was said");
}
static ulong word() {
    ulong word;
    take(&word, sizeof(word));
    return word;
}
static void check_untouched(const Bound &one, ulong from, ulong to) {
    for (ulong at = from; at < to; at++)
        if (one.bytes[at - MARGIN] != FILL) fail("a kernel wrote where nothing of its is");
}

int main() {
    groups = {(uint)word(), 0, 0};
    groups.y = (uint)word();
    groups.z = (uint)word();
    const ulong params_bytes = word(), count = word();
    if (params_bytes > sizeof(params) || count > 32) fail("more than a launch has");
    for (ulong at = 0; at < count; at++) {
        Bound &one = bound[at];
        one = {nullptr, word(), word(), word(), word(), word()};
        one.bytes = (uchar *)malloc(one.size + 2 * MARGIN) + MARGIN;
        memset(one.bytes - MARGIN, FILL, one.size + 2 * MARGIN);
    }
    take(params, params_bytes);
    for (ulong at = 0; at < count; at++)
        if (bound[at].is_read) take(bound[at].bytes + bound[at].from, bound[at].to - bound[at].from);
    const ulong shared = (ulong)(&__stop_shared_memory - &__start_shared_memory);
    if (shared > SHARED_MAX) fail("more shared memory than a group has");
    for (group.z = 0; group.z < groups.z; group.z++)
        for (group.y = 0; group.y < groups.y; group.y++)
            for (group.x = 0; group.x < groups.x; group.x++) {
                memset(&__start_shared_memory, FILL, shared);
                run_fibers(WG);
            }
    for (ulong at = 0; at < count; at++) {
        const Bound &one = bound[at];
        check_untouched(one, 0, MARGIN + one.from);
        check_untouched(one, MARGIN + one.to, one.size + 2 * MARGIN);
        if (one.is_written) fwrite(one.bytes + one.from, 1, one.to - one.from, stdout);
    }
    return 0;
}
