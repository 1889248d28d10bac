/* For programs that check that OpenMP threads have thread-local storage of their own. */
#ifndef IDENTITY_H
#define IDENTITY_H
#include "check.h"
#include <errno.h>

/* Whether no two of the n addresses are equal. */
static int distinct(const void *const *address, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (address[i] == address[k])
                return 0;
    return 1;
}

/* Where errno is now. Compilers take the address to be the same in all of a function: hence the
 * call, and the statement that makes each call count. */
static __attribute__((noinline)) int *errno_now(void)
{
    __asm__ volatile("" ::: "memory");
    return &errno;
}
#endif
