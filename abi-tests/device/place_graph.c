// what: a run records the graph of its regions, and the next one plans by it: makespan and waste are reported
// each: POLICY = heftmc / ishmc
// env: GANGWAY_STATS=0
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 2
// threads: 4
// mode: preload
// ours: placement
// expect-stderr: this run records it; using least
// expect-stderr: @POLICY@:lambda=0.7 planned 9 regions: makespan
// expect-stderr: memory wasted
#include <sys/wait.h>
#include <unistd.h>
#include "place.h"
enum { CHAINS = 4, N = 1000 };
static void regions(int *on)
{
    static long data[CHAINS][N];
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int step = 0; step < 2; step++)
            for (int c = 0; c < CHAINS; c++) {
                long *v = data[c];
                int *one = &on[step * CHAINS + c];
#pragma omp target nowait device(ANY) map(tofrom : v[0 : N]) map(from : one[0 : 1]) depend(inout : v[0])
                {
                    one[0] = omp_get_device_num();
                    for (int k = 0; k < 20000; k++)
                        v[k % N] += k % 7;
                }
            }
#pragma omp taskwait
#pragma omp target device(ANY) map(to : data) map(tofrom : sum)
        for (int c = 0; c < CHAINS; c++)
            for (int i = 0; i < N; i++)
                sum += data[c][i];
    }
    long want = 0;
    for (int k = 0; k < 20000; k++)
        want += k % 7;
    CHECK_EQ(sum, 2 * CHAINS * want);
}
static int edges(const char *name, long bytes)
{
    char line[256];
    int found = 0;
    FILE *file = fopen(name, "r");
    CHECK(file != NULL);
    while (file && fgets(line, sizeof line, file)) {
        long from, to, size;
        found += sscanf(line, "edge %ld %ld %ld", &from, &to, &size) == 3 && size == bytes && from < to;
    }
    if (file)
        fclose(file);
    return found;
}
/* A millisecond for each region, so that the plan is always the same. */
static void level(const char *name)
{
    char text[8192], task[64];
    long keeps, scratch;
    FILE *file = fopen(name, "r");
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    file = fopen(name, "w");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (sscanf(line, "task %63s %ld %ld", task, &keeps, &scratch) == 3)
            fprintf(file, "task %s %ld %ld 1000000\n", task, keeps, scratch);
        else
            fprintf(file, "%s\n", line);
    fclose(file);
}
int main(int argc, char **argv)
{
    if (argc > 1) { /* one of the two runs */
        int on[2 * CHAINS], first = 0;
        regions(on);
        if (argv[1][0] == 'p')
            for (int c = 0; c < CHAINS; c++) { /* both devices are used, and data are not moved without need */
                first += on[c] == 0;
                CHECK_EQ(on[c], on[CHAINS + c]);
            }
        CHECK(argv[1][0] != 'p' || first == CHAINS / 2);
        return check_result();
    }
    char name[] = "/tmp/placeXXXXXX";
    close(mkstemp(name));
    unlink(name);
    setenv("OMPX_GRAPH", name, 1);
    setenv("OMPX_SCHED", "@POLICY@:lambda=0.7", 1);
    setenv("GANGWAY_STATS", "1", 1);
    for (int run = 0; run < 2; run++) {
        int status = 1;
        if (fork() == 0) {
            execl("/proc/self/exe", argv[0], run ? "plan" : "record", NULL);
            _exit(127);
        }
        wait(&status);
        CHECK_EQ(status, 0);
        CHECK_EQ(edges(name, N * sizeof(long)), 2 * CHAINS);
        level(name);
    }
    unlink(name);
    return check_result();
}
