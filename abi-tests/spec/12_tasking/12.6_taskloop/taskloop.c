// what: taskloop @CLAUSES@ over @TYPE@: each iteration once, @RULE@
// languages: c, c++
// each: CLAUSES ; RULE ; TEST = ; in some tasks ; tasks >= 1 / grainsize(7) ; tasks of 7 to 13 ; least >= 7 && most < 14 / grainsize(1) ; one by one ; tasks == 100 / grainsize(1000) ; one task ; tasks == 1 / num_tasks(1) ; one task ; tasks == 1 / num_tasks(9) ; nine tasks ; tasks == 9 / num_tasks(1000) ; one by one ; tasks == 100 / nogroup ; in some tasks ; tasks >= 1 / if(0) ; in some tasks ; tasks >= 1 / final(1) num_tasks(4) ; four tasks ; tasks == 4 / untied grainsize(30) ; in three tasks ; tasks == 3 / priority(2) num_tasks(8) mergeable ; eight tasks ; tasks == 8
// each: TYPE ; LOOP = int ; int i = 0; i < 100; i++ / unsigned long long ; unsigned long long i = 0; i < 100; i++ / long ; long i = 0; i <= 99; i += 1
#include "check.h"
int main(void)
{
    static int seen[100], size[200];
    int tasks = 0, least = 1 << 30, most = 0;
#pragma omp parallel
#pragma omp master
    {
        int fresh = -1;
#pragma omp taskloop @CLAUSES@ shared(seen, size, tasks) firstprivate(fresh)
        for (@LOOP@) {
            if (fresh < 0)
                fresh = __atomic_fetch_add(&tasks, 1, __ATOMIC_RELAXED);
            size[fresh]++;
            __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
        }
    }
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
    for (int i = 0; i < tasks; i++) {
        least = size[i] < least ? size[i] : least;
        most = size[i] > most ? size[i] : most;
    }
    CHECK(@TEST@);
    return check_result();
}
