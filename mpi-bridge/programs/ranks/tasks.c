/* nowait and depend: chains from rank to rank, many small tasks at once, a pipeline whose data stay where
 * they are, devices that the runtime chooses. */
#include "device.h"
#include "ompx.h"
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 60, PIECES = 64, SMALL = 2000 };

static void chain(int devices)
{
    long x = 1, want = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < STEPS; i++) {
#pragma omp target nowait depend(inout : x) map(tofrom : x) device(i % (devices + 1))
        x = x * 3 + i;
        want = want * 3 + i;
    }
    CHECK_EQ(x, want);
}

static void pi(int devices)
{
    static double parts[PIECES];
    int on[PIECES];
#pragma omp parallel
#pragma omp single
    for (int p = 0; p < PIECES; p++) {
        double *part = &parts[p];
#pragma omp target nowait map(from : part[0 : 1], on[p : 1]) device(devices ? p % devices : 0)
        {
            double sum = 0;
            for (int i = 0; i < 20000; i++) {
                double x = (p * 20000 + i + 0.5) / (PIECES * 20000.0);
                sum += 4 / (1 + x * x);
            }
            part[0] = sum / (PIECES * 20000.0);
            on[p] = omp_get_device_num();
        }
    }
    double sum = 0;
    for (int p = 0; p < PIECES; p++) {
        sum += parts[p];
        CHECK_EQ(on[p], devices ? p % devices : 0);
    }
    CHECK(sum > 3.14159265 && sum < 3.14159266);
}

static void small(int devices)
{
    int *x = calloc(SMALL, sizeof *x);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < SMALL; i++) {
#pragma omp target nowait map(tofrom : x[i : 1]) firstprivate(i) device(devices ? i % devices : 0)
        x[i] += i;
    }
    long sum = 0;
    for (int i = 0; i < SMALL; i++)
        sum += x[i];
    CHECK_EQ(sum, SMALL * (SMALL - 1L) / 2);
    free(x);
}

static void stay(int devices)
{
    enum { N = 4096 };
    double a[N];
    for (int i = 0; i < N; i++)
        a[i] = 1;
    int d = devices ? devices - 1 : 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp target enter data nowait depend(out : a) map(to : a) device(d)
        for (int round = 0; round < 8; round++)
#pragma omp target nowait depend(inout : a) map(to : a) device(d)
            for (int i = 0; i < N; i++)
                a[i] *= 2;
#pragma omp target exit data nowait depend(inout : a) map(from : a) device(d)
#pragma omp taskwait
    }
    CHECK_EQ(a[0] + a[N - 1], 512);
}

/* Do 48 regions whose device the runtime chooses spread over all? */
static int spread(int devices)
{
    enum { TASKS = 48 };
    int on[TASKS], most = 0, least = TASKS;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp target nowait device(ompx_device_any()) map(from : on[i : 1])
        {
            on[i] = omp_get_device_num();
            usleep(2000); /* what ends at once leaves its device free for the next one, while another has not
                             begun */
        }
    }
    for (int d = 0; d < devices; d++) {
        int count = 0;
        for (int i = 0; i < TASKS; i++)
            count += on[i] == d;
        most = count > most ? count : most;
        least = count < least ? count : least;
    }
    if (devices == 0)
        return on[0] == 0;
    /* Each has some. Not as many: a rank whose processor others use answers late, and gets fewer meanwhile.
     */
    return least > 0 && most <= TASKS - 6 * (devices - 1);
}

static void chosen(int devices)
{
    enum { N = 1 << 19 };
    int *there = malloc(N * sizeof *there), where = -1;
    /* Ranks that share a processor with others may all be late but one; not three times. */
    CHECK(spread(devices) || spread(devices) || spread(devices));
    for (int d = 0; d < devices; d++) { /* where the data are */
#pragma omp target enter data device(d) map(to : there[0 : N])
#pragma omp target device(ompx_device_any()) map(to : there[0 : N]) map(from : where)
        where = omp_get_device_num();
#pragma omp target exit data device(d) map(delete : there[0 : N])
        CHECK_EQ(where, d);
    }
    free(there);
}

/* Policies by their names: in turns, and by hand. */
static void policies(int devices)
{
    char name[] = "/tmp/placeXXXXXX", policy[64];
    int where = -1, file = mkstemp(name), first = ompx_cluster_size() - devices;
    FILE *lines = fdopen(file, "w");
    CHECK_EQ(ompx_set_sched("rrmc"), 0);
    for (int i = 0; i < 3 * devices; i++) {
#pragma omp target device(ompx_device_any()) map(from : where)
        where = omp_get_device_num();
        CHECK_EQ(where, i % devices);
    }
    fprintf(lines, "0-100000 %d CPU 0\n", first + devices - 1);
    fclose(lines);
    snprintf(policy, sizeof policy, "manual:%s", name);
    if (devices > 0) {
        CHECK_EQ(ompx_set_sched(policy), 0);
        for (int i = 0; i < 4; i++) {
#pragma omp target device(ompx_device_any()) map(from : where)
            where = omp_get_device_num();
            CHECK_EQ(where, devices - 1);
        }
    }
    unlink(name);
    CHECK_EQ(ompx_set_sched("least"), 0);
}

int main(void)
{
    int devices = omp_get_num_devices();
    chain(devices);
    pi(devices);
    small(devices);
    stay(devices);
    chosen(devices);
    policies(devices);
    return check_result();
}
