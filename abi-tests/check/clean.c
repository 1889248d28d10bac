// what: GANGWAY_CHECK says nothing of a right program: @CASE@
// each: CASE = locks / nest_locks / tested_locks / handed_locks / locks_again / barriers / copied_barriers / constructs / reductions / nested / serialized / cancelled / cancelled_loop / events / sets / groups / undeferred / leagues / short_waits
// compilers: gcc, clang>=19
// flags: clang -g
// threads: 1,4
// mode: preload
// env: GANGWAY_CHECK=1 OMP_CANCELLATION=true OMP_MAX_ACTIVE_LEVELS=3
#include "check.h"
#include <unistd.h>
static omp_lock_t lock;
static omp_nest_lock_t nest;
static long count;
static volatile int x, y;
static void locks(void)
{
#pragma omp parallel
    for (int i = 0; i < 300; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
    CHECK_EQ(count, 300L * omp_get_max_threads());
}
static void nest_locks(void)
{
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        omp_set_nest_lock(&nest);
        CHECK(omp_test_nest_lock(&nest) == 2);
        count++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    CHECK_EQ(count, 100L * omp_get_max_threads());
}
static void tested_locks(void)
{
    CHECK(omp_test_lock(&lock));
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        while (!omp_test_lock(&lock))
            ;
        count++;
        omp_unset_lock(&lock);
    }
    CHECK_EQ(count, 100L * omp_get_max_threads());
}
/* Each task gives the lock back before the next one sets it. */
static void handed_locks(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 200; i++) {
#pragma omp task depend(inout : x)
        {
            omp_set_lock(&lock);
            count++;
#pragma omp taskyield
            omp_unset_lock(&lock);
        }
#pragma omp task
        {
            omp_set_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
    }
    CHECK_EQ(count, 200);
}
static void locks_again(void)
{
    for (int i = 0; i < 100; i++) {
        omp_lock_t own;
        omp_init_lock(&own);
#pragma omp parallel num_threads(2)
        {
            omp_set_lock(&own);
            omp_unset_lock(&own);
        }
        omp_destroy_lock(&own);
    }
}
static void barriers(void)
{
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
#pragma omp barrier
#pragma omp master
        count++;
#pragma omp barrier
        CHECK_EQ(count, i + 1);
    }
}
/* One barrier, of which there are many calls. */
static inline __attribute__((always_inline)) void meet(int times)
{
    for (int i = 0; i < times; i++) {
#pragma omp barrier
        x = i;
    }
}
static void copied_barriers(void)
{
#pragma omp parallel
    for (int i = 0; i < 50; i++) {
        if ((omp_get_thread_num() + i) % 3 == 0)
            meet(2);
        else if ((omp_get_thread_num() + i) % 3 == 1)
            meet(2);
        else
            meet(1), meet(1);
    }
}
static void constructs(void)
{
    int one = 0;
#pragma omp parallel firstprivate(one)
    for (int round = 0; round < 20; round++) {
#pragma omp for
        for (int i = 0; i < 7; i++)
            x = i;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 7; i++)
            x = i;
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < 7; i++)
            x = i;
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 7; i++) {
#pragma omp ordered
            x = i;
        }
#pragma omp sections
        {
#pragma omp section
            x = 1;
#pragma omp section
            x = 2;
        }
#pragma omp single
        x = 3;
#pragma omp single nowait
        x = 4;
#pragma omp single copyprivate(one)
        one = round;
        CHECK_EQ(one, round);
#pragma omp critical
        x = 5;
    }
}
static void reductions(void)
{
    for (int round = 0; round < 10; round++) {
        long sum = 0, product = 1;
#pragma omp parallel
        {
#pragma omp for reduction(+ : sum) reduction(* : product)
            for (int i = 0; i < 100; i++)
                sum += i;
#pragma omp for reduction(+ : sum) schedule(dynamic) nowait
            for (int i = 0; i < 100; i++)
                sum += i;
        }
        CHECK_EQ(sum, 9900);
    }
}
static void nested(void)
{
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(1 + omp_get_thread_num())
        {
#pragma omp barrier
#pragma omp for
            for (int k = 0; k < 5; k++)
                x = k;
#pragma omp parallel num_threads(2)
            {
#pragma omp barrier
            }
        }
#pragma omp barrier
    }
}
static void serialized(void)
{
#pragma omp parallel num_threads(1)
    {
#pragma omp barrier
    }
#pragma omp barrier
    meet(3);
}
static void cancelled(void)
{
    for (int round = 0; round < 40; round++) {
#pragma omp parallel
        {
            if (omp_get_thread_num() == round % 4) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp cancellation point parallel
#pragma omp for
            for (int i = 0; i < 4; i++)
                x = i;
        }
    }
}
static void cancelled_loop(void)
{
#pragma omp parallel
    for (int round = 0; round < 40; round++) {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
            if (i == 50) {
#pragma omp cancel for
            }
        }
#pragma omp barrier
    }
}
static void events(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i)
        {
            if (i % 2)
                omp_fulfill_event(event);
        }
        if (i % 2 == 0) {
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
        }
    }
}
static void sets(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task depend(mutexinoutset : x, y)
        {
            count++;
#pragma omp task
            y = 1;
#pragma omp taskwait
        }
#pragma omp task depend(mutexinoutset : y) if (i % 5 != 0)
        count++;
    }
    CHECK_EQ(count, 200);
}
static void groups(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp taskgroup
                {
#pragma omp task
                    usleep(200);
                }
            }
        }
#pragma omp taskloop
        for (int k = 0; k < 10; k++)
            x = k;
    }
}
static void undeferred(void)
{
#pragma omp parallel
    {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
#pragma omp task if (0)
        {
            omp_set_lock(&lock);
            count++;
            omp_unset_lock(&lock);
        }
#pragma omp task final(1)
        {
#pragma omp task
            {
                omp_set_lock(&lock);
                count++;
                omp_unset_lock(&lock);
            }
        }
    }
    CHECK_EQ(count, 3L * omp_get_max_threads());
}
static void leagues(void)
{
#pragma omp teams num_teams(2)
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
        }
    }
}
/* Long enough for two looks, but over in the end. */
static void short_waits(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_set_lock(&lock);
#pragma omp task
        {
            omp_set_lock(&lock);
            omp_unset_lock(&lock);
        }
        usleep(1300000);
        omp_unset_lock(&lock);
#pragma omp taskwait
    }
}
int main(void)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    @CASE@();
    CHECK(omp_test_lock(&lock)); /* nobody has it any more */
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    return check_result();
}
