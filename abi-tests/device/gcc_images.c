// what: gcc's images for GPUs are not used, with a line where a region names a GPU, and OMP_TARGET_OFFLOAD=@POLICY@
// each: POLICY ; STATUS ; LINES = default ; 0 ; 1 / mandatory ; 134 ; 2
// compilers: clang>=19
// env: OMP_TARGET_OFFLOAD=@POLICY@
// expect-exit: @STATUS@
// expect-stderr: gangway: device 0: the program's code for GPUs is gcc's, which is not known (clang 19's is); its regions run on the host
// expect-stderr-lines: @LINES@
// offload: yes
// devices: 1
// threads: 4
// only-gpu: it is about them
// no-cubin: it has no code for devices of clang's
#define _GNU_SOURCE
#include <dlfcn.h>
#include "device.h"

// What gcc's code calls, as it would.
static void region(void *arguments)
{
    ++**(int **)arguments;
}

int main(void)
{
    void (*registers)(unsigned, void *, int, void *) = (void (*)(unsigned, void *, int, void *))dlsym(RTLD_DEFAULT, "GOMP_offload_register_ver");
    void (*target)(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **, void **) =
        (void (*)(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **, void **))dlsym(RTLD_DEFAULT, "GOMP_target_ext");
    int x = 5;
    void *addresses[] = {&x};
    size_t sizes[] = {sizeof x};
    unsigned short kinds[] = {0x203}; // tofrom, four bytes aligned
    CHECK(registers && target && omp_get_num_devices() == 1);
    registers(0x10001, NULL, 5, NULL);
    for (int round = 0; round < 2; round++)
        target(0, region, 1, addresses, sizes, kinds, 0, NULL, NULL);
    CHECK_EQ(x, 7);
    return check_result();
}
