/* Chains of dependent additions by raw launches through CUDA's driver, as `tallow bench queue` times
   them: the floor of a program that launches a kernel for each operation.

   cc -O2 cuda_launches.c -o cuda_launches -ldl && ./cuda_launches
   Lines `name,milliseconds`: from the first launch to the end of a synchronization, median of nine. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int (*call_t)();

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 y, .param .u32 n) {\n"
    ".reg .pred p; .reg .f32 f<3>; .reg .b32 r<5>; .reg .b64 d<8>;\n"
    "ld.param.u64 d0, [a]; ld.param.u64 d1, [b]; ld.param.u64 d2, [y]; ld.param.u32 r0, [n];\n"
    "mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x;\n"
    "mad.lo.u32 r4, r1, r2, r3; setp.ge.u32 p, r4, r0; @p bra END;\n"
    "cvta.to.global.u64 d3, d0; cvta.to.global.u64 d4, d1; cvta.to.global.u64 d5, d2;\n"
    "mul.wide.u32 d6, r4, 4; add.u64 d3, d3, d6; add.u64 d4, d4, d6; add.u64 d5, d5, d6;\n"
    "ld.global.f32 f0, [d3]; ld.global.f32 f1, [d4]; add.f32 f2, f0, f1; st.global.f32 [d5], f2;\n"
    "END: ret; }\n";

static void *library;

static call_t find(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "cuda_launches: no %s\n", name);
        exit(1);
    }
    return (call_t)found;
}

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "cuda_launches: %s: CUDA error %d\n", what, code);
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "cuda_launches: %s\n", dlerror());
        return 1;
    }
    int device;
    void *context, *module, *add, *stream;
    check(find("cuInit")(0), "cuInit");
    check(find("cuDeviceGet")(&device, 0), "cuDeviceGet");
    check(find("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    check(find("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    check(find("cuModuleLoadData")(&module, PTX), "cuModuleLoadData");
    check(find("cuModuleGetFunction")(&add, module, "add"), "cuModuleGetFunction");
    check(find("cuStreamCreate")(&stream, 1), "cuStreamCreate");
    const call_t launch = find("cuLaunchKernel"), wait = find("cuStreamSynchronize");
    const call_t allocate = find("cuMemAlloc_v2"), set = find("cuMemsetD32_v2");
    const call_t copy = find("cuMemcpyDtoH_v2");
    const unsigned counts[] = {1024, 1 << 20}, chains[] = {5000, 500};
    printf("name,milliseconds\n");
    for (int c = 0; c < 2; c++) {
        unsigned count = counts[c];
        unsigned long long x[2], one;
        for (int i = 0; i < 2; i++) check(allocate(&x[i], (size_t)count * 4), "cuMemAlloc");
        check(allocate(&one, (size_t)count * 4), "cuMemAlloc");
        check(set(one, 0x3f800000, (size_t)count), "cuMemsetD32");
        double times[10];
        for (int run = 0; run < 10; run++) {
            check(set(x[0], 0, (size_t)count), "cuMemsetD32");
            check(wait(stream), "cuStreamSynchronize");
            const double start = now();
            for (unsigned i = 0; i < chains[c]; i++) {
                void *arguments[] = {&x[i % 2], &one, &x[(i + 1) % 2], &count};
                check(launch(add, count / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL),
                      "cuLaunchKernel");
            }
            check(wait(stream), "cuStreamSynchronize");
            times[run] = now() - start;
            float sum;
            check(copy(&sum, x[chains[c] % 2] + 4ull * (count - 1), (size_t)4), "cuMemcpyDtoH");
            if (sum != (float)chains[c]) {
                fprintf(stderr, "cuda_launches: a wrong sum: %g\n", sum);
                return 1;
            }
        }
        /* The first warms up. */
        qsort(times + 1, 9, sizeof times[0], by_size);
        printf("add_%u_x_%u,%.2f\n", count, chains[c], times[5]);
    }
    return 0;
}
