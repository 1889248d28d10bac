// what: an atomic integer division without a result faults as the processor's does, for 8 to 64 bits
// ours: gcc's runtime has no __kmpc_atomic_*
// threads: 1
// mode: link
#include "check.h"
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
void __kmpc_atomic_fixed1_div(void *, int, signed char *, signed char),
    __kmpc_atomic_fixed4_div(void *, int, int *, int);
void __kmpc_atomic_fixed8u_div_rev(void *, int, unsigned long *, unsigned long);

static sigjmp_buf back;
static void faulted(int signal)
{
    siglongjmp(back, signal);
}

#define FAULTS(call) \
    do { \
        int got = sigsetjmp(back, 1); \
        if (got == 0) { \
            call; \
        } \
        CHECK_EQ(got, SIGFPE); \
    } while (0)

int main(void)
{
    signed char a = -128;
    int b = INT_MIN;
    unsigned long c = 0;
    signal(SIGFPE, faulted);
    __kmpc_atomic_fixed1_div(0, 0, &a, -1); /* computed as int, so that there is a result */
    CHECK_EQ(a, -128);
    FAULTS(__kmpc_atomic_fixed1_div(0, 0, &a, 0));
    FAULTS(__kmpc_atomic_fixed4_div(0, 0, &b, -1));
    FAULTS(__kmpc_atomic_fixed8u_div_rev(0, 0, &c, 5));
    CHECK(a == -128 && b == INT_MIN && c == 0);
    return check_result();
}
