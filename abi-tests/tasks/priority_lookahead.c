// what: in a factorization's task graph, panels and lookahead updates go before trailing updates
// threads: 2,3,4,8
// env: OMP_MAX_TASK_PRIORITY=1
#include "priority.h"
/* Column k is factored (panel); column k+1 is updated with it at once (lookahead), the others in one task
 * that makes many (trailing). Panel k+1 needs the lookahead update alone. */
enum { COLUMNS = 12, PARTS = 6, PANEL = 0, LOOKAHEAD = 50, TRAILING = 100 };
static char column[COLUMNS + 2];
static int panels, parts_done[COLUMNS], panels_in_time;

static void panel(int k)
{
    start(PANEL + k);
    set(&panels, k + 1);
}

static void trailing(int k, int wait)
{
    start(TRAILING + k);
#pragma omp taskgroup
    for (int i = 0; i < PARTS; i++) {
#pragma omp task firstprivate(i, k, wait)
        {
            /* The last part goes on only when the next panel has started, which therefore needs another
             * thread. */
            if (wait && i == PARTS - 1 && k + 1 < COLUMNS && await(&panels, k + 2))
                __atomic_fetch_add(&panels_in_time, 1, __ATOMIC_SEQ_CST);
            __atomic_fetch_add(&parts_done[k], 1, __ATOMIC_SEQ_CST);
        }
    }
    CHECK_EQ(parts_done[k], PARTS);
}

static void factor(int wait)
{
    for (int k = 0; k < COLUMNS; k++) {
#pragma omp task depend(inout : column[k]) priority(1) firstprivate(k)
        panel(k);
#pragma omp task depend(in : column[k]) depend(inout : column[k + 1]) priority(1) firstprivate(k)
        start(LOOKAHEAD + k);
#pragma omp task depend(in : column[k]) depend(inout : column[k + 2], column[COLUMNS + 1]) \
    firstprivate(k, wait)
        trailing(k, wait);
    }
}

static void factor_alone(void)
{
    factor(0);
}

int main(void)
{
    /* One thread: whenever a panel or a lookahead update is ready, it goes before the trailing update. */
    on_one_thread(factor_alone);
    CHECK_EQ(starts, 3 * COLUMNS);
    for (int k = 0; k + 1 < COLUMNS; k++) {
        CHECK(place_of(LOOKAHEAD + k) < place_of(TRAILING + k));
        CHECK(place_of(PANEL + k + 1) < place_of(TRAILING + k));
    }
    /* Several: the panel starts while the trailing update is not complete. */
    starts = panels = 0;
    memset(parts_done, 0, sizeof parts_done);
#pragma omp parallel
#pragma omp single
    factor(1);
    CHECK_EQ(starts, 3 * COLUMNS);
    CHECK_EQ(panels_in_time, COLUMNS - 1);
    return check_result();
}
