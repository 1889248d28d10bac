// what: a nestable lock counts to @DEPTH@, by @HOW@, in @WHERE@, and is free after as many unsets
// languages: c, c++
// each: DEPTH = 1 / 2 / 40
// each: HOW ; TAKE = set ; omp_set_nest_lock(&lock) / test ; test(i) / both ; i % 2 ? (void)CHECKED(omp_test_nest_lock(&lock), i + 1) : omp_set_nest_lock(&lock)
// each: WHERE ; GO = regions ; turn() / tasks ; turn_in_task()
#include "check.h"
#include <sched.h>
#define CHECKED(a, b) check_report((a) == (b), __FILE__, __LINE__, #a, 0, 1)
static omp_nest_lock_t lock;
static int inside, total;
static inline void test(int i)
{
    int got = omp_test_nest_lock(&lock);
    for (; i == 0 && got == 0; got = omp_test_nest_lock(&lock))
        sched_yield();
    CHECK_EQ(got, i + 1);
}
static void turn(void)
{
    for (int i = 0; i < @DEPTH@; i++)
        @TAKE@;
    CHECK_EQ(++inside, 1);
    total++;
    inside--;
    for (int i = 0; i < @DEPTH@; i++)
        omp_unset_nest_lock(&lock);
}
static inline void turn_in_task(void)
{
#pragma omp task
    turn();
}
int main(void)
{
    omp_init_nest_lock(&lock);
    int turns = 0;
#pragma omp parallel shared(turns)
    for (int round = 0; round < 10; round++) {
#pragma omp atomic
        turns++;
        @GO@;
    }
    CHECK_EQ(total, turns);
    CHECK_EQ(omp_test_nest_lock(&lock), 1);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
    return check_result();
}
