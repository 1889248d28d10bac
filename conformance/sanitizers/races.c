// tool: thread
// Constructs that order what threads do, each with and without: `races NAME` uses the construct and has no
// race, `races NAME race` leaves it out, and then two threads of the team touch one variable with nothing
// between them. Every case checks its answer where it has one; a racy run says nothing.
//
// How the two threads come to do it one after the other, so that a detector has something to see, must not
// order them: they count each other in with relaxed atomic operations (`meet`), which order nothing.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int racy;
static int threads;

static int failed;
#define CHECK(condition) \
    ((condition) || racy \
         ? 0 \
         : (failed = 1, fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition)))

static int arrived;

// Waits for `count` arrivals, without ordering anything.
static void meet(int count)
{
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < count) {
        usleep(100);
    }
}

// Two tasks of one thread are in order for a detector: let a task that has begun wait, for a while, until
// another thread has one, too.
static void meet_for_a_while(int count)
{
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2000 && __atomic_load_n(&arrived, __ATOMIC_RELAXED) < count; i++) {
        usleep(100);
    }
}

static void fork_join(void)
{
    int before = 1, sum = 0, own[64] = {0};
#pragma omp parallel num_threads(threads)
    {
        own[omp_get_thread_num()] = before;
        if (racy) {
            sum++;
            meet(threads);
        }
    }
    for (int i = 0; i < threads; i++)
        sum += own[i];
    CHECK(sum == threads);
}

static void many_regions(void)
{
    int value = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(1 + i % threads)
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1 || (racy && omp_get_thread_num() == 0))
                value++;
        }
    }
    CHECK(value == 100);
}

static void nested(void)
{
    int sums[64] = {0};
#pragma omp parallel num_threads(threads)
    {
        int outer = omp_get_thread_num(), mine[8] = {0};
        for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(2)
            {
                mine[omp_get_thread_num()]++;
                if (racy)
                    sums[0]++;
            }
        }
        sums[outer] += mine[0] + mine[1];
    }
    for (int i = 1; i < threads; i++)
        CHECK(sums[i] == 20);
}

static void barrier(void)
{
    int value = 0, seen = 0;
#pragma omp parallel num_threads(threads)
    {
        for (int i = 0; i < 20; i++) {
            if (omp_get_thread_num() == i % threads)
                value++;
            if (!racy) {
#pragma omp barrier
            } else {
                meet(threads);
            }
        }
#pragma omp atomic
        seen += value;
    }
    CHECK(seen == 20 * threads);
}

// Who leaves a barrier late does not come after what the others have done since.
static void after_barrier(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0 && racy)
            value++;
        if (omp_get_thread_num() == 1)
            usleep(20000), value++;
#pragma omp barrier
    }
    CHECK(value == 1);
}

static void critical(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 50; i++) {
        if (racy) {
            value++;
        } else {
#pragma omp critical
            value++;
        }
    }
    CHECK(value == 50 * threads);
}

static void named_critical(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 50; i++) {
        if (racy && omp_get_thread_num() == 0) {
#pragma omp critical(another)
            value++;
        } else {
#pragma omp critical(one)
            value++;
        }
    }
    CHECK(value == 50 * threads);
}

static void locks(void)
{
    int value = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 50; i++) {
        if (!racy) {
            if (i % 2)
                while (!omp_test_lock(&lock))
                    usleep(10);
            else
                omp_set_lock(&lock);
        }
        value++;
        if (!racy)
            omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    CHECK(value == 50 * threads);
}

static void nest_locks(void)
{
    int value = 0;
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 50; i++) {
        if (!racy) {
            omp_set_nest_lock(&lock);
            while (!omp_test_nest_lock(&lock))
                usleep(10);
        }
        value++;
        if (!racy) {
            omp_unset_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
        }
    }
    omp_destroy_nest_lock(&lock);
    CHECK(value == 50 * threads);
}

static void single(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
    {
        for (int i = 0; i < 20; i++) {
            if (racy) {
#pragma omp single nowait
                value++;
                meet((i + 1) * threads);
                if (omp_get_thread_num() == i % threads)
                    value++;
            } else {
#pragma omp single
                value++;
            }
        }
    }
    CHECK(value == 20);
}

static void copyprivate(void)
{
    int sum = 0, shared = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 10; i++) {
        int value = 0;
#pragma omp single copyprivate(value)
        value = i, shared = i;
#pragma omp atomic
        sum += value + shared - i;
        if (racy)
            shared++;
#pragma omp barrier
    }
    CHECK(sum == 45 * threads);
}

static void masked(void)
{
    int value = 0, sum = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp master
        value = 7;
        if (!racy) {
#pragma omp barrier
        } else {
            meet(threads);
        }
#pragma omp atomic
        sum += value;
    }
    CHECK(sum == 7 * threads);
}

static void sections(void)
{
    int a = 0, b = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp sections
        {
#pragma omp section
            {
                a = 1;
                if (racy)
                    meet_for_a_while(2);
            }
#pragma omp section
            {
                if (racy) {
                    meet_for_a_while(2);
                    a = 3;
                }
                b = 2;
            }
        }
#pragma omp critical
        CHECK(a == 1 && b == 2);
    }
}

static void loops(void)
{
    enum { N = 1000 };
    static int array[N + 1];
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < N; i++)
            array[i] = i;
#pragma omp for schedule(guided)
        for (int i = 0; i < N; i++)
            array[N - 1 - i] += i;
#pragma omp for schedule(static, 7) nowait
        for (int i = 0; i < N; i++)
            array[racy ? N : i] += 1;
    }
    for (int i = 0; i < N; i++)
        CHECK(array[i] == N);
}

static void reduction(void)
{
    int sum = 0;
    double product = 1;
#pragma omp parallel num_threads(threads)
    {
        for (int round = 0; round < 5; round++) {
#pragma omp for reduction(+ : sum) reduction(* : product)
            for (int i = 0; i < 100; i++)
                sum += i, product *= 1.0;
            if (racy)
                sum++;
#pragma omp barrier
        }
#pragma omp critical
        CHECK(sum == 5 * 4950 && product == 1.0);
    }
}

static void ordered(void)
{
    int value = 0;
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < 40; i++) {
        if (racy) {
            value++;
            usleep(200);
        }
#pragma omp ordered
        {
            if (!racy)
                value++;
        }
    }
    CHECK(value == 40);
}

static void doacross(void)
{
    int array[41] = {1};
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(threads)
    for (int i = 1; i < 41; i++) {
        if (!racy) {
#pragma omp ordered depend(sink : i - 1)
            array[i] = array[i - 1] + 1;
        } else {
            array[i] = array[i - 1] + 1;
        }
#pragma omp ordered depend(source)
    }
    CHECK(array[40] == 41);
}

// With `seq_cst` both compilers call the sanitizer's atomic operations, and the flush is theirs.
static void flush(void)
{
    int data = 0, flag = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            data = 42;
            if (!racy) {
#pragma omp atomic write seq_cst
                flag = 1;
            } else {
                __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
            }
        } else {
            int seen = 0;
            while (!seen) {
                if (!racy) {
#pragma omp atomic read seq_cst
                    seen = flag;
                } else {
                    seen = __atomic_load_n(&flag, __ATOMIC_RELAXED);
                }
            }
            CHECK(data == 42);
            data++;
        }
    }
}

static void task_creation(void)
{
    int values[64];
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 64; i++) {
        values[i] = i;
#pragma omp task firstprivate(i)
        {
            CHECK(values[i] == i);
            values[racy ? 0 : i]++;
            if (i < 2)
                meet_for_a_while(2);
        }
    }
    for (int i = 0; i < 64; i++)
        CHECK(values[i] == i + 1);
}

static void taskwait(void)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 20; i++) {
        int a = 0, b = 0;
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
#pragma omp task shared(a)
        {
            a = 1;
            __atomic_store_n(&arrived, 1, __ATOMIC_RELAXED);
        }
#pragma omp task shared(b)
        b = 2;
        if (racy)
            meet_for_a_while(2);
        else {
#pragma omp taskwait
        }
        sum += a + b;
#pragma omp taskwait
    }
    CHECK(sum == 60);
}

static void taskgroup(void)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 20; i++) {
        int a = 0, b = 0;
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
#pragma omp taskgroup
        {
#pragma omp task shared(a, b)
            {
#pragma omp task shared(b)
                {
                    b = 2;
                    __atomic_store_n(&arrived, 1, __ATOMIC_RELAXED);
                }
                a = 1;
            }
            if (racy) {
                meet_for_a_while(2);
                sum += b;
            }
        }
        if (!racy)
            sum += a + b;
    }
    CHECK(sum == 60);
}

// A `taskwait` waits for children, not for theirs.
static void grandchildren(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task shared(value)
        {
#pragma omp task shared(value)
            {
                value = 1;
                meet_for_a_while(2);
                usleep(20000);
            }
            if (!racy) {
#pragma omp taskwait
            } else {
                meet_for_a_while(2);
            }
        }
#pragma omp taskwait
        value++;
    }
    CHECK(value == 2);
}

static void tasks_at_barrier(void)
{
    int values[64] = {0}, sum = 0;
#pragma omp parallel num_threads(threads)
    {
        for (int round = 0; round < 10; round++) {
            int me = omp_get_thread_num();
#pragma omp task firstprivate(me)
            {
                values[racy ? 0 : me]++;
                if (racy && round == 0)
                    meet_for_a_while(2);
            }
#pragma omp barrier
#pragma omp critical
            sum += values[(me + 1) % threads];
#pragma omp barrier
        }
    }
    CHECK(sum == 55 * threads);
}

static void dependences(void)
{
    int value = 0, reads[64] = {0}, sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        for (int i = 0; i < 200; i++) {
            if (i % 4 == 0) {
#pragma omp task depend(out : value) shared(value)
                {
                    value++;
                    if (i % 16 == 0)
                        usleep(50);
                }
            } else if (racy && i % 4 == 1) {
#pragma omp task shared(value)
                value++;
            } else {
#pragma omp task depend(in : value) shared(value, reads) firstprivate(i)
                {
                    reads[i % 4] += 0;
                    __atomic_fetch_add(&sum, value, __ATOMIC_RELAXED);
                }
            }
            if (i % 50 == 0)
                usleep(1000); // some predecessors are complete when their successors are made
        }
        if (racy)
            meet_for_a_while(2);
    }
    CHECK(value == 50);
}

// What depends on nothing that the other names has no order.
static void other_dependences(void)
{
    int a = 0, b = 0, value = 0;
    (void)&a, (void)&b;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(out : a) shared(value)
            {
                if (i == 0) {
                    value++;
                    meet_for_a_while(2);
                }
            }
            if (racy) {
#pragma omp task depend(out : b) shared(value)
                {
                    if (i == 0) {
                        meet_for_a_while(2);
                        value++;
                    }
                }
            } else {
#pragma omp task depend(in : a) depend(out : b) shared(value)
                {
                    if (i == 0)
                        value++;
                }
            }
        }
    }
    CHECK(value == 2);
}

// Who creates tasks comes after none of them.
static void creator(void)
{
    int value = 0, token = 0;
    (void)&token;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task depend(out : token) shared(value)
        {
            value = 1;
            meet_for_a_while(2);
        }
        if (racy)
            meet_for_a_while(2);
        usleep(20000);
#pragma omp task depend(inout : token) shared(value)
        value++;
        if (!racy) {
#pragma omp taskwait
        }
        value++;
#pragma omp taskwait
    }
    CHECK(value == 3);
}

static void taskwait_depend(void)
{
    int a = 0, b = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            a = 1;
            usleep(1000);
        }
#pragma omp task depend(out : b) shared(b)
        {
            b = 1;
            meet_for_a_while(2);
        }
        if (racy)
            meet_for_a_while(2);
        usleep(5000);
#pragma omp task if (0) depend(in : a) shared(a)
        a++;
#pragma omp task if (0) depend(in : a) shared(a)
        a++;
        CHECK(a == 3);
        if (racy)
            b++;
#pragma omp taskwait
        CHECK(b == 1);
    }
}

static void mutexinoutset(void)
{
    int value = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 50; i++) {
        if (racy) {
#pragma omp task shared(value)
            {
                value++;
                if (i < 2)
                    meet_for_a_while(2);
            }
        } else {
#pragma omp task depend(mutexinoutset : value) shared(value)
            value++;
        }
    }
    CHECK(value == 50);
}

static void taskloop(void)
{
    int array[200] = {0}, sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskloop grainsize(5) shared(array)
        for (int i = 0; i < 200; i++) {
            array[racy ? 0 : i] += i;
            if (racy && i % 5 == 0 && i < 10)
                meet_for_a_while(2);
        }
        for (int i = 0; i < 200; i++)
            sum += array[i];
#pragma omp taskloop grainsize(5) reduction(+ : sum)
        for (int i = 0; i < 200; i++)
            sum += i;
    }
    CHECK(sum == 2 * 19900);
}

static void task_reduction(void)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 50; i++) {
            if (racy) {
#pragma omp task shared(sum)
                {
                    sum += i;
                    if (i < 2)
                        meet_for_a_while(2);
                }
            } else {
#pragma omp task in_reduction(+ : sum)
                sum += i;
            }
        }
    }
    CHECK(sum == 1225);
}

static void untied(void)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int k = 0; k < 4; k++) {
#pragma omp task untied shared(sum)
        {
            int mine = 0;
            for (int i = 0; i < 10; i++) {
#pragma omp task shared(mine)
                {
                    __atomic_fetch_add(&mine, 1, __ATOMIC_RELAXED);
                    usleep(10);
                }
#pragma omp taskyield
#pragma omp taskwait
                mine += 0;
            }
            if (racy) {
                sum += mine;
                meet_for_a_while(4);
            } else {
#pragma omp critical
                sum += mine;
            }
        }
    }
    CHECK(sum == 40);
}

// Tasks of one thread are in order, and so are those that share its storage.
static int per_thread;
#pragma omp threadprivate(per_thread)
static void by_thread_number(void)
{
    int counts[64] = {0}, total = 0;
#pragma omp parallel num_threads(threads)
    {
        per_thread = 0;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 200; i++) {
#pragma omp task shared(counts)
            {
                counts[racy ? 0 : omp_get_thread_num()]++;
                per_thread++;
                if (racy && i < 2)
                    meet_for_a_while(2);
            }
        }
#pragma omp atomic
        total += per_thread;
    }
    CHECK(total == 200);
}

static void detach(void)
{
    int value = 0, other = 0, token = 0;
    (void)&token;
    for (int i = 0; i < 20; i++) {
        omp_event_handle_t event = 0;
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
#pragma omp parallel num_threads(threads)
#pragma omp single
        {
#pragma omp task detach(event) depend(out : token) shared(value)
            {
                value++;
            }
#pragma omp task shared(other) firstprivate(event)
            {
                other++;
                if (i % 2)
                    usleep(200);
                omp_fulfill_event(event);
                if (racy) {
                    meet_for_a_while(2);
                    other++;
                }
            }
            if (racy) {
#pragma omp task shared(other) depend(in : token)
                {
                    other++;
                    meet_for_a_while(2);
                }
            } else {
#pragma omp task shared(value, other) depend(in : token)
                {
                    value++;
                    other++;
                }
            }
        }
    }
    CHECK(value == 40 && other == 40);
}

// Arguments of tasks lie in memory that is used again and again, by all threads.
static void recycled(void)
{
    long sum = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 300; i++) {
        long a[8] = {i, i, i, i, i, i, i, i};
#pragma omp task firstprivate(a) shared(sum)
        {
            a[7] += a[0];
            if (racy)
                sum += a[7];
            else
                __atomic_fetch_add(&sum, a[7], __ATOMIC_RELAXED);
        }
    }
    CHECK(sum == 2L * threads * (299 * 300 / 2));
}

static int fibonacci(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
    if (!racy) {
#pragma omp taskwait
        return a + b;
    }
    usleep(1000);
    *(volatile int *)&a; // while the task that writes it runs, or before
#pragma omp taskwait
    return a + b;
}

static void recursive(void)
{
    int result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    result = fibonacci(racy ? 6 : 14);
    CHECK(result == 377);
}

static void teams_of_tasks(void)
{
    int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task shared(sum)
        {
            int inner = 0;
#pragma omp parallel num_threads(3) reduction(+ : inner)
            {
#pragma omp single
                for (int k = 0; k < 5; k++) {
#pragma omp task
                    usleep(1);
                }
                inner++;
            }
            if (racy) {
                sum += inner;
                if (i < 2)
                    meet_for_a_while(2);
            } else {
#pragma omp critical
                sum += inner;
            }
        }
    }
    CHECK(sum == 30);
}

static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {
    {"fork_join", fork_join},
    {"many_regions", many_regions},
    {"nested", nested},
    {"barrier", barrier},
    {"after_barrier", after_barrier},
    {"critical", critical},
    {"named_critical", named_critical},
    {"locks", locks},
    {"nest_locks", nest_locks},
    {"single", single},
    {"copyprivate", copyprivate},
    {"masked", masked},
    {"sections", sections},
    {"loops", loops},
    {"reduction", reduction},
    {"ordered", ordered},
    {"doacross", doacross},
    {"flush", flush},
    {"task_creation", task_creation},
    {"taskwait", taskwait},
    {"taskgroup", taskgroup},
    {"grandchildren", grandchildren},
    {"tasks_at_barrier", tasks_at_barrier},
    {"dependences", dependences},
    {"other_dependences", other_dependences},
    {"creator", creator},
    {"taskwait_depend", taskwait_depend},
    {"mutexinoutset", mutexinoutset},
    {"taskloop", taskloop},
    {"task_reduction", task_reduction},
    {"untied", untied},
    {"by_thread_number", by_thread_number},
    {"detach", detach},
    {"recycled", recycled},
    {"recursive", recursive},
    {"teams_of_tasks", teams_of_tasks},
};

// races list | races all THREADS | races NAME THREADS [race]
int main(int count, char **arguments)
{
    const int cases = sizeof CASES / sizeof *CASES;
    omp_set_max_active_levels(3);
    if (count < 2)
        return 2;
    int lists = strcmp(arguments[1], "list") == 0, all = strcmp(arguments[1], "all") == 0, found = lists;
    threads = count > 2 ? atoi(arguments[2]) : 4;
    racy = count > 3 && strcmp(arguments[3], "race") == 0;
    if (lists)
        puts("all 2\t\nall 3\t\nall 4\t\nall 8\t");
    for (int i = 0; i < cases; i++) {
        if (lists) {
            printf("%s 4 race\tdata race\n", CASES[i].name);
        } else if (all || strcmp(arguments[1], CASES[i].name) == 0) {
            found = 1;
            arrived = 0;
            CASES[i].run();
        }
    }
    return found ? failed : 2;
}
