/* Floating-point modes of threads: what the control words hold, and what each thread of a team was left in.
 * x86_64. */
#ifndef MODES_H
#define MODES_H
#include "check.h"
#include <fpu_control.h>
#include <xmmintrin.h>

#define MOST 64

/* A mode: rounding of both units (2 bits), flush to zero and denormals are zero, precision of the x87 unit.
 */
enum { MODES = 16, FLUSHES = 4, SINGLE_X87 = 8 };

static void put_mode(int mode)
{
    fpu_control_t x87;
    int rounding = mode & 3;
    _FPU_GETCW(x87);
    x87 = (x87 & ~0xf00) | rounding << 10 | (mode & SINGLE_X87 ? 0x200 : 0x300);
    _FPU_SETCW(x87);
    _mm_setcsr((_mm_getcsr() & ~0xe040u) | (unsigned)rounding << 13 | (mode & FLUSHES ? 0x8040u : 0));
}

/* The mode in force; -1 for a mixture of two. */
static int mode_now(void)
{
    fpu_control_t x87;
    unsigned sse = _mm_getcsr() & 0xe040u;
    _FPU_GETCW(x87);
    for (int mode = 0; mode < MODES; mode++)
        if ((x87 & 0xf00) == (((mode & 3) << 10) | (mode & SINGLE_X87 ? 0x200 : 0x300)) &&
            sse == ((unsigned)(mode & 3) << 13 | (mode & FLUSHES ? 0x8040u : 0)))
            return mode;
    return -1;
}

/* By number in its team, the mode in which each thread was left. Touched by the thread alone. */
struct modes {
    volatile int left[MOST];
};

/* The running thread is in the mode in which the last code that ran as this thread has left it. */
#define LOOK(modes) CHECK_EQ(mode_now(), (modes)->left[omp_get_thread_num()])

static void change(struct modes *modes, unsigned mode)
{
    put_mode(mode % MODES);
    modes->left[omp_get_thread_num()] = mode % MODES;
}
#endif
