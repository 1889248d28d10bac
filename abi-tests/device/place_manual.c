// what: a placement written by hand is followed, region by region; files with mistakes change nothing and are named
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 3
// threads: 4
// mode: preload
// ours: placement
// expect-stderr: line 2: '5-2' goes backwards; this call changes nothing
// expect-stderr: rank 7 has no such device (Cpu 0); this call changes nothing
// expect-stderr: No such file or directory
// expect-stderr: ompx_set_sched("manual"): manual needs a file, manual:FILE; this call changes nothing
// expect-stderr-lines: 4
#include <unistd.h>
#include "place.h"
static int set(const char *text)
{
    char name[] = "/tmp/placeXXXXXX", policy[64];
    int file = mkstemp(name);
    CHECK(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    snprintf(policy, sizeof policy, "manual:%s", name);
    int result = ompx_set_sched(policy);
    unlink(name);
    return result;
}
int main(void)
{
    static const int want[8] = {2, 1, 1, 1, 0, 2, 2, 0};
    int on[8], *p = on;
    CHECK_EQ(set("# tasks rank device\n0,5-6 2 CPU 0\n1-3 1 CPU 0 # three\n4 , 7 0 CPU 0\n"), 0);
    CHECK_EQ(set("0 0 CPU 0\n5-2 1 CPU 0\n"), -1);
    CHECK_EQ(set("0 7 CPU 0\n"), -1);
    CHECK_EQ(ompx_set_sched("manual:/nowhere/at/all"), -1);
    CHECK_EQ(ompx_set_sched("manual"), -1);
    int turn = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 8; i++) /* numbers are those of creation */
#pragma omp target nowait device(ANY) map(from : p[i : 1]) depend(inout : turn)
        p[i] = omp_get_device_num();
    for (int i = 0; i < 8; i++)
        CHECK_EQ(on[i], want[i]);
    return check_result();
}
