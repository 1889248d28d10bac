// what: threads that cannot be bound, because their processors do not exist, give one line and go on
// env: OMP_PLACES=threads OMP_PROC_BIND=close
// threads: 1,4
// mode: preload,link
// ours: only Gangway knows the variable
// expect-stderr: gangway: no thread can be bound to processors 6*: Invalid argument
// expect-stderr-lines: 1
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>
#include <unistd.h>
int main(void)
{
    char name[] = "/tmp/gangway-topology-XXXXXX";
    int file = mkstemp(name), count = 0;
    CHECK_EQ(write(file, "cpus 60000-60007\n", 17), 17);
    close(file);
    setenv("GANGWAY_TOPOLOGY", name, 1);
    int threads = omp_get_max_threads();
    unlink(name);
    cpu_set_t before, mine;
    CHECK_EQ(sched_getaffinity(getppid(), sizeof before, &before), 0);
    for (int i = 0; i < 20; i++)
#pragma omp parallel reduction(+ : count)
    {
        count++;
        CHECK_EQ(omp_get_place_num(), omp_get_thread_num());
    }
    CHECK_EQ(count, 20 * threads);
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    CHECK(CPU_EQUAL(&mine, &before));
    return check_result();
}
