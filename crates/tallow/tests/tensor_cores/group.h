/* A group of threads on a processor: as many fibers, which give way at barriers. A warp runs as far
   ahead as the barriers let it, and its lanes one after the other, so that a barrier that is
   missing shows. Who includes this says what a thread does: `run_thread`. */
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>

[[noreturn]] static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

const int THREADS_MAX = 1024, WARPS_MAX = THREADS_MAX / 32, STACK_BYTES = 1 << 17;
/* Jumps make no system calls; a context is only what a fiber starts from. */
struct Fiber {
    ucontext_t context;
    jmp_buf place;
    bool started, done;
};
static Fiber fibers[THREADS_MAX];
static char stacks[THREADS_MAX][STACK_BYTES];
static jmp_buf scheduler;
static int current, threads_of_group;
static int arrived, passed, warp_arrived[WARPS_MAX], warp_passed[WARPS_MAX];
/* Counts what lets a fiber that waited go on. */
static long progress;

static void run_thread();

static void give_way() {
    if (!_setjmp(fibers[current].place)) _longjmp(scheduler, 1);
}
static void meet(int threads, int &count, int &times) {
    const int before = times;
    if (++count == threads) {
        count = 0;
        times++;
        progress++;
    } else {
        while (times == before) give_way();
    }
}
static void meet_group() { meet(threads_of_group, arrived, passed); }
static void meet_warp() { meet(32, warp_arrived[current / 32], warp_passed[current / 32]); }

static void run_fiber() {
    run_thread();
    fibers[current].done = true;
    progress++;
    for (;;) give_way();
}
static void go_on(Fiber &fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    setcontext(&fiber.context);
}
/* Runs a group of threads. */
static void run_fibers(int threads) {
    threads_of_group = threads;
    arrived = 0;
    for (int &count : warp_arrived) count = 0;
    for (int at = 0; at < threads; at++) {
        Fiber &fiber = fibers[at];
        fiber.started = fiber.done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks[at];
        fiber.context.uc_stack.ss_size = STACK_BYTES;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_fiber, 0);
    }
    for (long before = -1; progress != before;) {
        before = progress;
        for (int warp = 0; warp < threads; warp += 32) {
            for (long own = -1; progress != own;) {
                own = progress;
                for (current = warp; current < warp + 32; current++)
                    if (!fibers[current].done) go_on(fibers[current]);
            }
        }
    }
    for (int at = 0; at < threads; at++)
        if (!fibers[at].done) fail("threads that wait for ever");
}
