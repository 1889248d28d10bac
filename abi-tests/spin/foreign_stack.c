// what: generated code that takes a block of the heap as its stack, while other threads wait behind it, finds the memory below its stack pointer as it was
// threads: 4,6,8
// opt: -O2
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, ROUNDS = 12, RED_ZONE = 128 };

/* Counts down with the stack pointer in the middle of `block`, as a kernel that keeps data below it does. */
static void run_on(char *block, long steps)
{
    __asm__ volatile("mov %%rsp, %%r12\n\t"
                     "mov %1, %%rsp\n\t"
                     "1: sub $1, %0\n\t"
                     "jnz 1b\n\t"
                     "mov %%r12, %%rsp"
                     : "+r"(steps)
                     : "r"(block + BLOCK / 2)
                     : "r12", "memory", "cc");
}

int main(void)
{
    int touched = 0, threads = 0;
#pragma omp parallel reduction(+ : touched, threads)
    {
        threads++;
        for (int round = 0; round < ROUNDS; round++) {
            char *block = malloc(BLOCK);
            memset(block, round + 1, BLOCK);
            run_on(block, 10000000);
            int same = 1;
            for (int i = 0; i < BLOCK / 2 - RED_ZONE; i++)
                same &= block[i] == round + 1;
            touched += !same;
            free(block);
        }
    }
    CHECK_EQ(threads, omp_get_max_threads());
    CHECK_EQ(touched, 0);
    return check_result();
}
