// what: graphs of tasks that are made once and run many times (ompx_taskgraph_*): every edge holds in every run, data are those of the first time
// threads: 2,3,4,8,17
// timeout: 60
// ours: the routines are of this library alone
#include "check.h"
#include "ompx.h"
#include <string.h>

/* So that it builds without the library, too. */
#pragma weak ompx_taskgraph_begin
#pragma weak ompx_taskgraph_end
#pragma weak ompx_taskgraph_is_ready
#pragma weak ompx_taskgraph_destroy

enum { RUNS = 20, TASKS = 600, PLACES = 24 };

/* Task i reads two places and writes one, if it is in the plan; `order` notes who ran when. */
static int stamp[TASKS], clock_now, reads[TASKS][2], writes[TASKS], kinds[TASKS];
static long place[PLACES];

static void plan(unsigned seed)
{
    for (int i = 0; i < TASKS; i++) {
        seed = seed * 1103515245u + 12345u;
        reads[i][0] = seed / 65536 % PLACES;
        seed = seed * 1103515245u + 12345u;
        reads[i][1] = seed / 65536 % PLACES;
        seed = seed * 1103515245u + 12345u;
        writes[i] = seed / 65536 % PLACES;
        kinds[i] = seed / 1048576 % 3;
    }
}

static long value(int i, long a, long b)
{
    return (a * 31 + b * 17 + i) % 1000003;
}

static void run_task(int i)
{
    int now;
#pragma omp atomic capture
    now = ++clock_now;
    stamp[i] = now;
    long a = place[reads[i][0]], b = place[reads[i][1]];
    place[writes[i]] = value(i, a, b);
}

static void make(void)
{
    for (int i = 0; i < TASKS; i++) {
        long *r0 = &place[reads[i][0]], *r1 = &place[reads[i][1]], *w = &place[writes[i]];
        if (kinds[i] == 0) {
#pragma omp task depend(in : *r0, *r1) depend(inout : *w) firstprivate(i)
            run_task(i);
        } else if (kinds[i] == 1) {
#pragma omp task depend(inout : *w) depend(in : *r0, *r1) firstprivate(i) priority(i % 3)
            run_task(i);
        } else {
#pragma omp task depend(in : *r1) depend(inout : *w) depend(in : *r0) firstprivate(i) untied
            run_task(i);
        }
    }
}

/* A graph by chance, against plain code. */
static void graphs(void)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        ompx_taskgraph_t *graph = NULL;
        long expected[PLACES];
        int made = 0;
        plan(seed);
        memset(place, 0, sizeof place);
        memset(expected, 0, sizeof expected);
#pragma omp parallel
#pragma omp single
        for (int run = 0; run < RUNS; run++) {
            if (ompx_taskgraph_begin(&graph)) {
                made++;
                make();
            }
            ompx_taskgraph_end(&graph);
            for (int i = 0; i < TASKS; i++)
                expected[writes[i]] = value(i, expected[reads[i][0]], expected[reads[i][1]]);
            CHECK(memcmp(place, expected, sizeof place) == 0);
        }
        CHECK(made == 1);
        CHECK(ompx_taskgraph_is_ready(&graph) == 1);
        ompx_taskgraph_destroy(&graph);
        CHECK(graph == NULL);
    }
}

/* Firstprivate data of all sizes keep the values of the first time; shared ones are what they are now;
 * children are made anew. */
struct large {
    int from[100];
};

static void data(void)
{
    ompx_taskgraph_t *graph = NULL;
    int sum = 0, base = 0, children = 0;
#pragma omp parallel
#pragma omp single
    for (int run = 0; run < RUNS; run++) {
        base = run;
        if (ompx_taskgraph_begin(&graph))
            for (int i = 0; i < 30; i++) {
                struct large large;
                for (int k = 0; k < 100; k++)
                    large.from[k] = i * 100 + k;
#pragma omp task firstprivate(large, i) shared(sum, base, children)
                {
                    int mine = 0;
                    for (int k = 0; k < 100; k++)
                        mine += large.from[k] == i * 100 + k;
#pragma omp atomic
                    sum += mine + base;
                    large.from[0] = -1;
#pragma omp task shared(children)
                    {
#pragma omp atomic
                        children++;
                    }
                }
            }
        ompx_taskgraph_end(&graph);
        CHECK(sum == 30 * (100 + run));
        CHECK(children == 30 * (run + 1));
        sum = 0;
    }
#ifdef __clang__
    CHECK(ompx_taskgraph_is_ready(&graph) == 1);
#else
    CHECK(ompx_taskgraph_is_ready(&graph) == 0); /* structures */
#endif
    ompx_taskgraph_destroy(&graph);
}

/* Plain variables, whichever the compiler. */
static void words(void)
{
    ompx_taskgraph_t *graph = NULL;
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int run = 0; run < RUNS; run++) {
        sum = run;
        if (ompx_taskgraph_begin(&graph))
            for (int i = 0; i < 300; i++) {
                double half = i * 0.5;
                long twice = 2L * i;
#pragma omp task firstprivate(i, half, twice) shared(sum)
                {
#pragma omp atomic
                    sum += half * 2 == i && twice == 2L * i ? i : -1000000;
                }
            }
        ompx_taskgraph_end(&graph);
        CHECK(sum == run + 300 * 299 / 2);
    }
    CHECK(ompx_taskgraph_is_ready(&graph) == 1);
    ompx_taskgraph_destroy(&graph);
}

/* Waits of the recording task are waits in every run. */
static void phases(void)
{
    ompx_taskgraph_t *graph = NULL;
    int first = 0, wrong = 0;
#pragma omp parallel
#pragma omp single
    for (int run = 0; run < RUNS; run++) {
        if (ompx_taskgraph_begin(&graph)) {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(first)
                {
#pragma omp atomic
                    first++;
                }
            }
#pragma omp taskwait
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(first, wrong)
                {
                    int seen;
#pragma omp atomic read
                    seen = first;
#pragma omp atomic
                    wrong += seen % 20 != 0;
                }
            }
#pragma omp task shared(first, wrong)
            {
#pragma omp atomic
                wrong += first % 20 != 0;
            }
        }
        ompx_taskgraph_end(&graph);
        CHECK(first == 20 * (run + 1) && wrong == 0);
    }
    CHECK(ompx_taskgraph_is_ready(&graph) == 1);
    ompx_taskgraph_destroy(&graph);
}

/* What cannot be written down is made by the program each time. */
static void unfit(int which)
{
    ompx_taskgraph_t *graph = NULL;
    int made = 0, ran = 0;
#pragma omp parallel
#pragma omp single
    for (int run = 0; run < 5; run++) {
        if (ompx_taskgraph_begin(&graph)) {
            made++;
            if (which == 0) {
#pragma omp task if (0) shared(ran)
                ran++;
            } else if (which == 1) {
                omp_event_handle_t event;
#pragma omp task detach(event) shared(ran)
                {
                    ran++;
                    omp_fulfill_event(event);
                }
            } else if (which == 2) {
#pragma omp taskloop shared(ran) grainsize(1)
                for (int i = 0; i < 1; i++)
                    ran++;
            } else if (which == 3) {
                int x = 0;
#pragma omp task depend(out : x) shared(ran)
                ran++;
#pragma omp taskwait depend(in : x)
            } else if (which == 4) {
#pragma omp taskgroup
                {
#pragma omp task shared(ran)
                    ran++;
                }
            } else {
                int sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
                {
#pragma omp task in_reduction(+ : sum)
                    sum++;
                }
                ran += sum;
            }
        }
        ompx_taskgraph_end(&graph);
        CHECK(ran == run + 1);
    }
    CHECK(made == 5);
    CHECK(ompx_taskgraph_is_ready(&graph) == 0);
    ompx_taskgraph_destroy(&graph);
}

/* A graph inside of another one, one that two tasks use at the same time, and one made anew. */
static void several(void)
{
    static ompx_taskgraph_t *outer, *inner, *both;
    int ran = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int run = 0; run < 4; run++) {
            if (ompx_taskgraph_begin(&outer)) {
                if (ompx_taskgraph_begin(&inner)) {
#pragma omp task shared(ran)
                    {
#pragma omp atomic
                        ran++;
                    }
                }
                ompx_taskgraph_end(&inner);
#pragma omp task shared(ran)
                {
#pragma omp atomic
                    ran++;
                }
            }
            ompx_taskgraph_end(&outer);
            CHECK(ran == 2 * (run + 1));
        }
        ran = 0;
        for (int user = 0; user < 8; user++) {
#pragma omp task shared(ran)
            for (int run = 0; run < 10; run++) {
                if (ompx_taskgraph_begin(&both)) {
#pragma omp task shared(ran)
                    {
#pragma omp atomic
                        ran++;
                    }
                }
                ompx_taskgraph_end(&both);
            }
        }
    }
    CHECK(ran == 80);
    ompx_taskgraph_destroy(&outer);
    ompx_taskgraph_destroy(&inner);
    ompx_taskgraph_destroy(&both);
}

/* Tasks made before the graph: a taskwait inside waits for them in every run, and what depends on them comes
 * after them. */
static void tasks_outside(void)
{
    ompx_taskgraph_t *waits = NULL, *depends = NULL;
    int before = 0, seen = 0, wrong = 0;
#pragma omp parallel
#pragma omp single
    for (int run = 1; run <= RUNS; run++) {
#pragma omp task shared(before)
        {
            for (volatile int i = 0; i < 20000; i++)
                ;
#pragma omp atomic write
            before = run;
        }
        if (ompx_taskgraph_begin(&waits)) {
#pragma omp taskwait
#pragma omp task shared(before, seen)
            {
#pragma omp atomic read
                seen = before;
            }
        }
        ompx_taskgraph_end(&waits);
        CHECK_EQ(seen, run);
#pragma omp task shared(before) depend(out : before)
        {
            for (volatile int i = 0; i < 20000; i++)
                ;
#pragma omp atomic write
            before = -run;
        }
        if (ompx_taskgraph_begin(&depends)) {
#pragma omp task shared(before, wrong) depend(in : before)
            {
                int now;
#pragma omp atomic read
                now = before;
#pragma omp atomic
                wrong += now >= 0;
            }
        }
        ompx_taskgraph_end(&depends);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(ompx_taskgraph_is_ready(&waits), 1);
    ompx_taskgraph_destroy(&waits);
    ompx_taskgraph_destroy(&depends);
}

/* The first beginning of one graph by several threads at once. */
static void first_at_once(void)
{
    for (int round = 0; round < 50; round++) {
        ompx_taskgraph_t *graph = NULL;
        int ran = 0;
#pragma omp parallel
        {
#pragma omp barrier
            for (int run = 0; run < 3; run++) {
                if (ompx_taskgraph_begin(&graph)) {
#pragma omp task shared(ran)
                    {
#pragma omp atomic
                        ran++;
                    }
                }
                ompx_taskgraph_end(&graph);
            }
        }
        CHECK_EQ(ran, 3 * omp_get_max_threads());
        ompx_taskgraph_destroy(&graph);
    }
}

int main(void)
{
    tasks_outside();
    first_at_once();
    graphs();
    data();
    words();
    phases();
    for (int which = 0; which < 6; which++)
        unfit(which);
    several();
    return check_result();
}
