/* The body of memory/burst*.c: a burst of 100,000 tasks, ten times, in a process of its own. What is resident
 * after ten cycles may be more than after two by GROWTH parts in a hundred, or by SLACK (in KiB) if that is
 * more.
 *
 * SLACK is there because 5 in a hundred of a process with some 5 MiB are 260 KiB, and what is kept follows
 * the greatest number of tasks that ever waited at once. How many do is chance: in one run of eight there is
 * a cycle in which more of them wait than in all before it (410 to 800 KiB more, once, and flat from then
 * on). One byte and a third lost per task, 1 MiB in eight cycles, still shows; no allocation is as small. */
#include "steady.h"
enum { TASKS = 100000, CYCLES = 10, SLACK = 1024 };
#ifndef GROWTH
#define GROWTH 5
#endif
static long ran;
static double cell[TASKS];

static void step(int i)
{
    cell[i] += 1.0;
#pragma omp atomic
    ran++;
}

static int burst_main(void (*burst)(void))
{
    long resident[CYCLES + 1] = {0};
    for (int cycle = 1; cycle <= CYCLES; cycle++) {
        ran = 0;
        burst();
        resident[cycle] = steady_rss();
        CHECK_EQ(ran, TASKS);
    }
    for (int cycle = 1; cycle <= CYCLES; cycle++)
        printf("%ld%s", resident[cycle], cycle < CYCLES ? " " : " KiB\n");
    long least = resident[2] * GROWTH / 100, bound = resident[2] + (least > SLACK ? least : SLACK);
    if (resident[CYCLES] > bound)
        fprintf(stderr, "%ld KiB after 2 cycles, %ld KiB after %d\n", resident[2], resident[CYCLES], CYCLES);
    CHECK(resident[2] > 0);
    CHECK(resident[CYCLES] <= bound);
    return check_result();
}
