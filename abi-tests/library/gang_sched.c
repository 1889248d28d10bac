// what: ompx_set_gang_sched and ompx_reset_gang_sched, in tasks and nested regions; layout and growth of the counters
// ours: ompx_* is Gangway's
// mode: link
#include "check.h"
#include "ompx.h"

static const char *const names[] = {"regions",
                                    "gangs",
                                    "gang_ults_run",
                                    "steal_attempts",
                                    "steal_successes",
                                    "steals_aborted",
                                    "stalls",
                                    "interrupts",
                                    "preemptions",
                                    "hand_offs",
                                    "yields",
                                    "donors",
                                    "switches",
                                    "workers",
                                    "regions_sent",
                                    "regions_served",
                                    "bytes_sent",
                                    "bytes_fetched",
                                    "invokes_sent",
                                    "invokes_served",
                                    "regions_stolen",
                                    "rank_steal_attempts",
                                    "rank_steal_successes",
                                    "rank_steals_aborted",
                                    "bytes_between",
                                    "bytes_not_sent",
                                    "bytes_not_fetched",
                                    "object_invokes",
                                    "objects_moved",
                                    "object_forwards",
                                    "regions_chained",
                                    "regions_waited",
                                    "regions_taken_over",
                                    "blocks_ahead",
                                    "moves",
                                    "worker_changes",
                                    "fewer_workers_us"};
enum { KNOWN = sizeof(ompx_counters_t), COUNTERS = KNOWN / sizeof(uint64_t) };

static ompx_counters_t read_counters(void)
{
    ompx_counters_t counters;
    memset(&counters, 0xff, sizeof counters);
    CHECK_EQ(ompx_get_counters(&counters, sizeof counters), KNOWN);
    return counters;
}

static void check_growth(const ompx_counters_t *before, const ompx_counters_t *after)
{
    uint64_t old[COUNTERS], new[COUNTERS];
    memcpy(old, before, KNOWN);
    memcpy(new, after, KNOWN);
    for (int i = 0; i < COUNTERS; i++) {
        if (new[i] < old[i])
            fprintf(stderr, "%s shrank\n", names[i]);
        CHECK(new[i] >= old[i]);
    }
    CHECK(after->steal_successes + after->steals_aborted == 0 || after->steal_attempts > 0);
}

static int count_nested(void)
{
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
    n++;
    return n;
}

static void check_inheritance(int threads)
{
    int sum = 0, tasks = 0;
#pragma omp parallel reduction(+ : sum)
    {
        if (omp_get_thread_num() % 2)
            ompx_reset_gang_sched();
        else
            ompx_set_gang_sched();
        sum += count_nested();
#pragma omp task shared(tasks)
        {
            int n = count_nested();
            ompx_set_gang_sched();
            n += count_nested();
#pragma omp atomic
            tasks += n;
        }
    }
    CHECK_EQ(sum, 2 * threads);
    CHECK_EQ(tasks, 4 * threads);
}

int main(void)
{
    int threads = omp_get_max_threads();
    omp_set_max_active_levels(2);
    CHECK_EQ(KNOWN, 37 * 8);
    CHECK_EQ(sizeof names / sizeof *names, COUNTERS);
    CHECK_EQ(ompx_get_counters(NULL, 0), KNOWN);
    uint64_t few[3] = {7, 7, 7};
    CHECK_EQ(ompx_get_counters((ompx_counters_t *)few, 2 * sizeof *few), KNOWN);
    CHECK_EQ(few[2], 7);
    ompx_counters_t before = read_counters();
    for (int round = 0; round < 3; round++) {
        if (round == 1)
            ompx_set_gang_sched();
        if (round == 2)
            ompx_reset_gang_sched();
        check_inheritance(threads);
        ompx_counters_t after = read_counters();
        check_growth(&before, &after);
        CHECK_EQ(after.regions - before.regions, 1 + 3 * threads);
        CHECK(after.workers >= (threads > 1 && omp_get_num_procs() > 1));
        before = after;
    }
    return check_result();
}
