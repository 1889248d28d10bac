// what: persistent tasks and trays in one process: order, transfers, reductions, forks and tasks in procedures
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"

enum { TASKS = 12, STEPS = 200 };

static int executed, ended;

/* Tray 0 = tray 0 + tray 1, by a region and by tasks. */
static void add(const ompx_run_t *run, const void *args, size_t bytes)
{
    size_t size, visitor;
    long *x = ompx_run_inout(run, 0, &size);
    const long *y = ompx_run_in(run, 1, &visitor);
    int n = (int)(size / sizeof *x);
    CHECK(size == visitor && bytes == sizeof(int));
    if (*(const int *)args % 50 == 0) {
#pragma omp parallel for num_threads(3)
        for (int i = 0; i < n; i++)
            x[i] += y[i];
    } else {
#pragma omp taskloop
        for (int i = 0; i < n; i++)
            x[i] += y[i];
    }
#pragma omp atomic
    executed++;
}

static void ends(const ompx_run_t *run, const void *args, size_t bytes)
{
    (void)run;
    (void)args;
    (void)bytes;
    ended++; /* one at a time */
}

int main(void)
{
    ompx_ptask_t t[TASKS];
    ompx_tray_t trays[TASKS];
    long want[TASKS], before[TASKS], sum[3], total = 0;
    CHECK_EQ(ompx_ptask_create(OMPX_ANY_RANK, TASKS, t), 0);
    for (int i = 0; i < TASKS; i++) {
        long x[3] = {i, 2 * i, 1};
        want[i] = i;
        trays[i] = ompx_tray(t[i], 0);
        CHECK_EQ(ompx_ptask_set(t[i], add), 0);
        CHECK_EQ(ompx_tray_write(trays[i], OMPX_LONG, 3, x), 0);
    }
    for (int step = 0; step < STEPS; step++) {
        memcpy(before, want, sizeof want);
        for (int i = 0; i < TASKS; i++) {
            CHECK_EQ(ompx_tray_send_recv(trays[(i + 1) % TASKS], ompx_tray(t[i], 1)), 0);
            want[i] = (long)((unsigned long)before[i] + (unsigned long)before[(i + 1) % TASKS]);
        }
        for (int i = 0; i < TASKS; i++)
            CHECK_EQ(ompx_ptask_execute(t[i], &step, sizeof step), 0);
    }
    CHECK_EQ(ompx_tray_reduce(trays, TASKS, ompx_tray(t[3], 9), OMPX_LONG, OMPX_SUM, NULL), 0);
    CHECK_EQ(ompx_tray_read(ompx_tray(t[3], 9), sum, sizeof sum), 0);
    for (int i = 0; i < TASKS; i++)
        total = (long)((unsigned long)total + (unsigned long)want[i]);
    CHECK_EQ(sum[0], total);
    CHECK_EQ(sum[1], (long)(2 * (unsigned long)total));
    CHECK_EQ(executed, STEPS * TASKS);
    CHECK_EQ(ompx_ptask_free_all(), 0);
    CHECK_EQ(ompx_ptask_create(0, 1, t), 0);
    CHECK_EQ(ompx_ptask_set(t[0], ends), 0);
    for (int i = 0; i < 30; i++)
        CHECK_EQ(ompx_ptask_execute(t[0], NULL, 0), 0);
    CHECK_EQ(ompx_ptask_wait_all(), 0);
    CHECK_EQ(ended, 30);
    return check_result();
}
