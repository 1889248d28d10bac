// what: images for GPUs of a release of LLVM that is not known are refused with a line, with OMP_TARGET_OFFLOAD=@POLICY@
// each: POLICY ; STATUS ; LINES = default ; 0 ; 1 / mandatory ; 134 ; 2
// compilers: clang>=19
// skip: clang>=21 is such a release, and what is made here of its table would be none
// env: OMP_TARGET_OFFLOAD=@POLICY@
// expect-exit: @STATUS@
// expect-stderr: gangway: device 0: its device code is of LLVM 21 or later, which is not known (LLVM 19's is); the device is not used, its constructs run on the host
// expect-stderr-lines: @LINES@
// offload: yes
// devices: 1
// threads: 4
// only-gpu: images for this machine may be of any release
#define _GNU_SOURCE
#include <dlfcn.h>
#include "device.h"

// The program's table as LLVM 21 and later have it, from that which this compiler has made.
struct old {
    void *address;
    char *name;
    size_t size;
    int flags, data;
};
struct new {
    unsigned long long reserved;
    unsigned short version, kind;
    unsigned flags;
    void *address;
    char *name;
    unsigned long long size, data;
    void *auxiliary;
};
struct descriptor {
    int count;
    void *images;
    void *begin, *end;
};

static struct new table[64];
static struct descriptor made;

void __tgt_register_lib(struct descriptor *what)
{
    int count = 0;
    for (struct old *entry = what->begin; entry != what->end; entry++)
        table[count++] = (struct new){0, 1, 1, (unsigned)entry->flags, entry->address, entry->name, entry->size, (unsigned)entry->data, NULL};
    made = (struct descriptor){what->count, what->images, table, table + count};
    ((void (*)(void *))dlsym(RTLD_NEXT, "__tgt_register_lib"))(&made);
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        int on_host = 0, x = 5;
#pragma omp target map(tofrom : x) map(from : on_host)
        {
            x++;
            on_host = omp_is_initial_device();
        }
        CHECK_EQ(on_host, 1);
        CHECK_EQ(x, 6);
    }
    return check_result();
}
