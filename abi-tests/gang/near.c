// what: threads of small inner gangs that want to be near the primary thread start on workers of its memory node, on a described machine of two
// env: OMP_PROC_BIND=close GANGWAY_WORKERS=8 OMP_GANG_SCHED=true KMP_WARNINGS=0 OMP_MAX_ACTIVE_LEVELS=2 OMP_WAIT_POLICY=passive
// threads: 8
// mode: preload,link
// ours: only Gangway knows the variables
// alone: yes
// timeout: 60
#define _GNU_SOURCE
#include "machine.h"
#include "nearness.h"
enum { OUTER = 8, INNER = 4, ROUNDS = 50 };
static int kernel_thread[OUTER];

/* The thread of the outer team that the calling kernel thread is home to. */
static int home(void)
{
    for (int i = 0; i < OUTER; ++i)
        if (kernel_thread[i] == worker_thread())
            return i;
    return -1;
}

/* Of 100 mates of gangs that thread `forker` forks, and that do not start on its own worker, how many start
 * on its node. */
static int near(int forker, int inner)
{
    int same = 0, all = 0;
#pragma omp parallel num_threads(OUTER)
    {
        CHECK_EQ(omp_get_num_threads(), OUTER);
        kernel_thread[omp_get_thread_num()] = worker_thread();
        for (int round = 0; round < ROUNDS; ++round) {
            int started = 0;
#pragma omp barrier
            if (omp_get_thread_num() == forker)
#pragma omp parallel num_threads(inner) proc_bind(master) reduction(+ : same, all) shared(started)
            {
                if (omp_get_thread_num() != 0) {
                    int here = home();
                    CHECK(here >= 0);
                    if (here != forker) {
                        same += here % 2 == forker % 2;
                        all++;
                    }
#pragma omp atomic
                    started++;
                    for (volatile int k = 0; k < 20000; ++k) /* and leaves the others to others */
                        ;
                } else /* does not take them itself, at the join, before the others have come */
                    for (int now = 0, naps = 0; now < inner - 1 && naps < 100; ++naps) {
                        usleep(50);
#pragma omp atomic read
                        now = started;
                    }
            }
        }
    }
    return all > ROUNDS ? 100 * same / all : 0;
}

/* As above, the mean of all forkers. */
static int near_all(void)
{
    int sum = 0;
    for (int forker = 0; forker < OUTER; ++forker)
        sum += near(forker, INNER);
    return sum / OUTER;
}

int main(void)
{
    describe_machine("cpus 0-7\ncache 0-7:1/2 x2\nnuma 0-7:1/2 x2\n");
    setenv("OMP_PLACES", "{0}:8",
           1); /* in the order of their numbers; what stands behind us would complain */
    CHECK_EQ(omp_get_num_places(), OUTER);
    machine_is_known();
    /* Three of the seven others are near: 43 by chance. */
    check_nearness(near_all, 20, 65, 52);
    return check_result();
}
