// what: a description of a machine with a mistake gives one line that names file, line and mistake; the real machine is used
// threads: 2
// mode: preload,link
// ours: only Gangway knows the variable
// expect-stderr: gangway: GANGWAY_TOPOLOGY='/tmp/gangway-topology-*': line 2: 'node' is none of cpus
// expect-stderr-lines: 1
#define _GNU_SOURCE
#include "machine.h"
#include <sched.h>
int main(void)
{
    describe_machine("cpus 0-4095\nnode 0-3\n");
    int procs = omp_get_num_procs();
    machine_is_known();
    cpu_set_t all;
    CHECK_EQ(sched_getaffinity(getppid(), sizeof all, &all), 0);
    CHECK(procs >= 1 && procs <= CPU_COUNT(&all));
    return check_result();
}
