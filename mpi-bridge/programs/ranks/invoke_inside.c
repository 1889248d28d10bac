/* A region that holds most of a device's memory waits for a function which launches another one: that one is
 * inside of it, and does not wait for the room. However the function was asked for, by the first argument.
 * gcc only: clang has no code of the runtime's for a device. */
#include "device.h"
#include "ompx.h"

enum { OUTER = 900 << 10, INNER = 400 << 10 };
enum { INVOKE, OBJECT, EVENT, MAKE_EVENT, EXECUTE, COMBINE };

static long sum_of_a_region(void)
{
    char *x = calloc(INNER, 1);
    long sum = 0;
#pragma omp target device(ompx_device_any()) map(tofrom : x[0 : INNER])
    for (int i = 0; i < INNER; i++)
        x[i]++;
    for (int i = 0; i < INNER; i++)
        sum += x[i];
    free(x);
    return sum;
}

static void sets(ompx_future_t future)
{
    long sum = sum_of_a_region();
    CHECK_EQ(ompx_future_set(future, &sum, sizeof sum), 0);
}

static void invoked(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    sets(*(const ompx_future_t *)args);
}

static void handler(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)object;
    (void)data;
    invoked(args, bytes, result);
}

/* The future comes with the event, or is what it was made with. */
static void fired(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)count;
    sets(*(const ompx_future_t *)(bytes ? data : parts[0].bytes));
}

static void executed(const ompx_run_t *run, const void *args, size_t bytes)
{
    (void)run;
    (void)bytes;
    sets(*(const ompx_future_t *)args);
}

static void combined(void *into, const void *from, size_t count)
{
    (void)from;
    (void)count;
    *(long *)into = sum_of_a_region();
}

/* What main has made for the region: it was not inside of anything then. */
struct made {
    ompx_object_t object;
    ompx_event_t event;
    ompx_future_t asked; /* for an event that is made inside of the region */
    ompx_ptask_t task;
};

struct wanted {
    ompx_future_t event, answer;
};

static void makes(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct wanted *wanted = args;
    ompx_event_t event;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_event_create(1, fired, &wanted->answer, sizeof wanted->answer, &event), 0);
    CHECK_EQ(ompx_future_set(wanted->event, &event, sizeof event), 0);
}

static void ask(int how, struct made made, ompx_future_t answer)
{
    struct wanted wanted = {made.asked, answer};
    switch (how) {
    case INVOKE: CHECK_EQ(ompx_invoke(0, invoked, &answer, sizeof answer, NULL), 0); break;
    case OBJECT:
        CHECK_EQ(ompx_object_invoke(made.object, OMPX_WRITE, handler, &answer, sizeof answer, NULL), 0);
        break;
    case EVENT: CHECK_EQ(ompx_event_satisfy(made.event, 0, &answer, sizeof answer), 0); break;
    case MAKE_EVENT: CHECK_EQ(ompx_invoke(0, makes, &wanted, sizeof wanted, NULL), 0); break;
    case EXECUTE: CHECK_EQ(ompx_ptask_execute(made.task, &answer, sizeof answer), 0); break;
    }
}

static long waits(int how, struct made made)
{
    long sum = 0;
    if (how == COMBINE) {
        ompx_tray_t from[] = {ompx_tray(made.task, 0), ompx_tray(made.task, 1)};
        CHECK_EQ(ompx_tray_reduce(from, 2, ompx_tray(made.task, 2), OMPX_LONG, OMPX_USER, combined), 0);
        CHECK_EQ(ompx_tray_read(ompx_tray(made.task, 2), &sum, sizeof sum), 0);
    } else {
        ompx_future_t answer;
        CHECK_EQ(ompx_future_create(&answer), 0);
        ask(how, made, answer);
        CHECK_EQ(ompx_future_get(answer, &sum, sizeof sum), 0);
        CHECK_EQ(ompx_future_free(answer), 0);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : INVOKE;
    long sum = 0, zero = 0;
    char *x = calloc(OUTER, 1);
    struct made made;
    CHECK_EQ(ompx_object_create(&zero, sizeof zero, &made.object), 0);
    CHECK_EQ(ompx_event_create(1, fired, NULL, 0, &made.event), 0);
    CHECK_EQ(ompx_future_create(&made.asked), 0);
    CHECK_EQ(ompx_ptask_create(0, 1, &made.task), 0);
    CHECK_EQ(ompx_ptask_set(made.task, executed), 0);
    for (int tray = 0; tray < 2; tray++)
        CHECK_EQ(ompx_tray_write(ompx_tray(made.task, tray), OMPX_LONG, 1, &zero), 0);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait device(ompx_device_any()) map(to : x[0 : OUTER]) map(from : sum)
        sum = waits(how, made);
        if (how == MAKE_EVENT) {
            ompx_event_t event; /* satisfied from outside */
            CHECK_EQ(ompx_future_get(made.asked, &event, sizeof event), 0);
            CHECK_EQ(ompx_event_satisfy(event, 0, NULL, 0), 0);
        }
    }
    CHECK_EQ(sum, INNER);
    free(x);
    return check_result();
}
