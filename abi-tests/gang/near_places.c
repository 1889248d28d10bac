// what: threads of bound inner gangs start on workers that are bound to their places, where there are any, and are told the places of the policy
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

/* The place of the worker that the calling kernel thread is. */
static int home(void)
{
    for (int i = 0; i < OUTER; ++i)
        if (kernel_thread[i] == worker_thread())
            return i;
    return -1;
}

/* Of 100 mates that start beside the forking worker, how many on the worker of their place. */
static int at_home(void)
{
    int same = 0, all = 0;
#pragma omp parallel num_threads(OUTER)
    {
        CHECK_EQ(omp_get_place_num(), omp_get_thread_num());
        kernel_thread[omp_get_thread_num()] = worker_thread();
        for (int round = 0; round < ROUNDS; ++round) {
            int started = 0;
#pragma omp barrier
            if (omp_get_thread_num() == 0)
#pragma omp parallel num_threads(INNER) proc_bind(spread) reduction(+ : same, all) shared(started)
            {
                int me = omp_get_thread_num();
                CHECK_EQ(omp_get_place_num(), 2 * me);
                CHECK_EQ(omp_get_partition_num_places(), 2);
                if (me != 0) {
                    same += home() == 2 * me;
                    all += home() != 0;
#pragma omp atomic
                    started++;
                    /* Who has one leaves the others to others. */
                    for (int now = 0, looks = 0; now < INNER - 1 && looks < 1000000; ++looks)
#pragma omp atomic read
                        now = started;
                } else
                    for (int now = 0, naps = 0; now < INNER - 1 && naps < 100; ++naps) {
                        usleep(50);
#pragma omp atomic read
                        now = started;
                    }
            }
        }
    }
    return all > ROUNDS ? 100 * same / all : 0;
}

int main(void)
{
    describe_machine("cpus 0-7\nnuma 0-3 x2+4\n");
    setenv("OMP_PLACES", "threads", 1);
    CHECK_EQ(omp_get_num_places(), OUTER);
    machine_is_known();
    /* One of seven by chance. */
    check_nearness(at_home, 60, 35, 19);
    return check_result();
}
