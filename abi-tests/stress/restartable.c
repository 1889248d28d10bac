// what: beside programs that compute, members of a team stay on their workers if the program uses restartable sequences, which the kernel knows by kernel threads
// threads: 2
// compilers: gcc, clang>=19
// mode: preload
// alone: yes

#include "check.h"
#include "foreign_loops.h"
#include <stdint.h>

#if defined __x86_64__ && defined __GLIBC__ && __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>

/* An empty sequence. The kernel compares the word before the place to which it would send the thread with the
   signature of the C library. */
static const uint32_t abort_place[] = {RSEQ_SIG, 0};
static struct rseq_cs sequence;

static void begin_sequence(void)
{
    if (__rseq_size == 0)
        return;
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    area->rseq_cs = (uintptr_t)&sequence;
}

int main(void)
{
    sequence.start_ip = sequence.abort_ip = (uintptr_t)&abort_place[1];
    long before = moves(), sum = 0;
    start_spinners();
    double begin = omp_get_wtime();
    while (omp_get_wtime() < begin + 1) {
#pragma omp parallel reduction(+ : sum)
        for (int round = 0; round < 500; round++) {
            for (volatile int i = 0; i < 2000; i++)
                ;
            begin_sequence();
#pragma omp barrier
            sum++;
            begin_sequence();
        }
    }
    end_spinners();
    CHECK_EQ(sum % (500 * omp_get_max_threads()), 0);
    if (__rseq_size != 0)
        CHECK_EQ(moves(), before);
    return check_result();
}
#else
int main(void)
{
    CHECK(1);
    return check_result();
}
#endif
