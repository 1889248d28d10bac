/* Functions on other ranks: thousands in all directions, in tasks and nested, values that come from third
 * ranks, events that many ranks satisfy, long bytes. Every rank asks every rank, itself included, at the same
 * time. What nobody waits for is done before the end. */
#include "device.h"
#include "ompx.h"
#include <unistd.h>

enum { MANY = 1000, TASKS = 200, LONG = 300000, LATE = 20 };

static int ranks, me;

static long value_of(ompx_future_t future)
{
    long value = -1;
    CHECK_EQ(ompx_future_get(future, &value, sizeof value), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    return value;
}

static ompx_future_t call(int rank, ompx_handler fn, const void *args, size_t bytes)
{
    ompx_future_t future = {0};
    CHECK_EQ(ompx_invoke(rank, fn, args, bytes, &future), 0);
    return future;
}

static void add(const void *args, size_t bytes, ompx_result_t *result)
{
    const long *x = args;
    long value = bytes == 2 * sizeof *x ? x[0] + x[1] + 1000000 * ompx_cluster_rank() : -1;
    ompx_result_set(result, &value, sizeof value);
}

static void many(void)
{
    static ompx_future_t futures[MANY];
    for (long i = 0; i < MANY; i++) {
        long x[2] = {i, me};
        futures[i] = call((int)(i % ranks), add, x, sizeof x);
    }
    for (long i = MANY - 1; i >= 0; i--)
        CHECK_EQ(value_of(futures[i]), i + me + 1000000 * (i % ranks));
}

static void in_tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i)
    {
        long x[2] = {i, i};
        CHECK_EQ(value_of(call((int)(i % ranks), add, x, sizeof x)), 2 * i + 1000000 * (i % ranks));
    }
}

/* Each call waits for two others on other ranks. */
static void fib(const void *args, size_t bytes, ompx_result_t *result)
{
    long n = *(const long *)args, value = n, before = n - 1, before2 = n - 2;
    int rank = ompx_cluster_rank(), of = ompx_cluster_size();
    if (n > 1) {
        ompx_future_t a = call((rank + 1) % of, fib, &before, sizeof before),
                      b = call((rank + 2) % of, fib, &before2, sizeof before2);
        value = value_of(a) + value_of(b);
    }
    CHECK_EQ(bytes, sizeof n);
    ompx_result_set(result, &value, sizeof value);
}

struct relay {
    ompx_future_t future;
    int hops;
};

/* Goes round, and the last one sets the future. */
static void relay(const void *args, size_t bytes, ompx_result_t *result)
{
    struct relay r = *(const struct relay *)args;
    long value = 7000 + ompx_cluster_rank();
    (void)bytes;
    (void)result;
    if (r.hops-- == 0)
        CHECK_EQ(ompx_future_set(r.future, &value, sizeof value), 0);
    else
        CHECK_EQ(ompx_invoke((ompx_cluster_rank() + 1) % ompx_cluster_size(), relay, &r, sizeof r, NULL), 0);
}

static void third(void)
{
    for (int hops = 0; hops < 2 * ranks + 1; hops++) {
        struct relay r = {{0}, hops};
        CHECK_EQ(ompx_future_create(&r.future), 0);
        CHECK_EQ(ompx_invoke(me, relay, &r, sizeof r, NULL), 0);
        CHECK_EQ(value_of(r.future), 7000 + (me + hops) % ranks);
    }
}

struct parts {
    ompx_event_t event;
    int first, count;
};

/* Satisfies some of the dependences; the first comes with many bytes. */
static void satisfy(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct parts *p = args;
    (void)bytes;
    (void)result;
    for (int i = 0; i < p->count; i++) {
        size_t size = i == 0 ? LONG : sizeof(int);
        int *data = calloc(1, size);
        data[0] = 1 + ompx_cluster_rank();
        CHECK_EQ(ompx_event_satisfy(p->event, p->first < 0 ? OMPX_ANY_SLOT : p->first + i, data, size), 0);
        free(data);
    }
}

static void fired(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    long sum = 0, sizes = 0;
    CHECK_EQ(bytes, sizeof(ompx_future_t));
    for (size_t i = 0; i < count; i++) {
        sizes += (long)parts[i].size;
        if (parts[i].size)
            sum += *(const int *)parts[i].bytes;
    }
    long value = sum * 100000000 + sizes;
    CHECK_EQ(ompx_future_set(*(const ompx_future_t *)data, &value, sizeof value), 0);
}

/* In even rounds by number, in odd ones not. */
static void events(void)
{
    enum { EACH = 5 };
    for (int round = 0; round < 5; round++) {
        ompx_future_t done, all[64];
        ompx_event_t event;
        CHECK_EQ(ompx_future_create(&done), 0);
        CHECK_EQ(ompx_event_create((unsigned)(ranks * EACH), fired, &done, sizeof done, &event), 0);
        for (int r = 0; r < ranks; r++) {
            struct parts p = {event, round % 2 ? -1 : r * EACH, EACH};
            all[r] = call(r, satisfy, &p, sizeof p);
        }
        long sum = EACH * ranks * (ranks + 1) / 2, sizes = ranks * (LONG + (EACH - 1) * (long)sizeof(int));
        CHECK_EQ(value_of(done), sum * 100000000 + sizes);
        for (int r = 0; r < ranks; r++) {
            CHECK_EQ(ompx_future_get(all[r], NULL, 0), 0);
            CHECK_EQ(ompx_future_free(all[r]), 0);
        }
    }
}

static void invert(const void *args, size_t bytes, ompx_result_t *result)
{
    unsigned char *copy = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        copy[i] = (unsigned char)~((const unsigned char *)args)[i];
    ompx_result_set(result, copy, bytes);
    free(copy);
}

static void long_ones(void)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, LONG, 5 << 20};
    unsigned char *there = malloc(5 << 20), *back = malloc(5 << 20);
    for (int s = 0; s < 7; s++)
        for (int r = 0; r < ranks; r++) {
            size_t size = sizes[s], right = 0, known = 1;
            for (size_t i = 0; i < size; i++)
                there[i] = (unsigned char)(i * 7 + (size_t)r);
            ompx_future_t future = call(r, invert, there, size);
            memset(there, 0, size);
            CHECK_EQ(ompx_future_size(future, &known), 0);
            CHECK_EQ(known, size);
            CHECK_EQ(ompx_future_get(future, back, size), 0);
            for (size_t i = 0; i < size; i++)
                right += back[i] == (unsigned char)~(i * 7 + (size_t)r);
            CHECK_EQ(right, size);
            CHECK_EQ(ompx_future_free(future), 0);
        }
    free(there);
    free(back);
}

/* All of it, on whatever rank; the value is the number of mistakes seen there. */
static void drive(const void *args, size_t bytes, ompx_result_t *result)
{
    long n = 13, failed;
    (void)args;
    (void)bytes;
    me = ompx_cluster_rank();
    ranks = ompx_cluster_size();
    many();
    in_tasks();
    CHECK_EQ(value_of(call(me, fib, &n, sizeof n)), 233);
    third();
    long_ones();
    failed = check_failed;
    if (result)
        ompx_result_set(result, &failed, sizeof failed);
}

static int late_notes;

static void all_are_noted(void)
{
    if (late_notes != LATE) {
        fprintf(stderr, "rank %d: %d of %d late functions were run before the end\n", ompx_cluster_rank(),
                late_notes, LATE);
        fflush(stderr);
        _exit(1);
    }
}

static void late(const void *args, size_t bytes, ompx_result_t *result)
{
    int hops = *(const int *)args;
    (void)bytes;
    (void)result;
    usleep(5000);
    if (hops-- > 0)
        ompx_invoke(ompx_cluster_rank(), late, &hops, sizeof hops, NULL);
    else if (__atomic_fetch_add(&late_notes, 1, __ATOMIC_RELAXED) == 0)
        atexit(all_are_noted);
}

int main(void)
{
    const char *mode = getenv("OMPX_CLUSTER");
    int head = mode && strcmp(mode, "head") == 0, two = 2;
    me = ompx_cluster_rank();
    ranks = ompx_cluster_size();
    if (head) { /* all at once; in spmd mode every main does that for itself */
        ompx_future_t all[64];
        for (int r = 0; r < ranks; r++)
            all[r] = call(r, drive, NULL, 0);
        for (int r = 0; r < ranks; r++)
            CHECK_EQ(value_of(all[r]), 0);
    } else {
        drive(NULL, 0, NULL);
    }
    events();
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    CHECK(counters.invokes_sent >= MANY + TASKS && counters.invokes_served >= (MANY + TASKS) / ranks);
    for (int r = head ? 1 : ranks; r < ranks; r++)
        for (int i = 0; i < LATE; i++)
            CHECK_EQ(ompx_invoke(r, late, &two, sizeof two, NULL), 0);
    return check_result();
}
