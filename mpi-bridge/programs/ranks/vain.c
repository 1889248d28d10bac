/* Waits in vain, which GANGWAY_CHECK names, by the first argument. */
#include "device.h"
#include "ompx.h"
#include "report_awaited.h"
#include <pthread.h>
#include <unistd.h>

static ompx_future_t of_there, lost;
static volatile int known;

/* On rank 0: waits for the value of `there`, which waits for this function's. */
void here(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    while (!known)
        usleep(1000);
    ompx_future_wait(of_there);
}

void there(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_future_t of_here;
    (void)args;
    (void)bytes;
    (void)result;
    ompx_invoke(0, here, NULL, 0, &of_here);
    ompx_future_wait(of_here);
}

static void relays(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_future_t mine;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_future_create(&mine), 0);
    CHECK_EQ(ompx_event_satisfy(*(const ompx_event_t *)args, 0, &mine, sizeof mine), 0);
    CHECK_EQ(ompx_future_wait(mine), 0);
    CHECK_EQ(ompx_future_free(mine), 0);
}

/* What the function on the other rank waits for becomes known here. */
static void hears(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)data;
    (void)bytes;
    (void)count;
    lost = *(const ompx_future_t *)parts[0].bytes;
    known = 1;
}

/* A thread that OpenMP knows nothing of. */
static void *sets_late(void *unused)
{
    await_report();
    CHECK_EQ(ompx_future_set(lost, NULL, 0), 0);
    return unused;
}

static void computes(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    for (double end = omp_get_wtime() + 3; omp_get_wtime() < end;)
        ;
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0, other = ompx_cluster_size() - 1;
    if (how > 0)
        catch_report();
    if (how == 1) {
        CHECK_EQ(ompx_invoke(other, there, NULL, 0, &of_there), 0);
        known = 1;
        await_report(); /* runs all the while */
        _exit(3);
    } else if (how == 2) {
        ompx_event_t event;
        ompx_future_t done;
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, sets_late, NULL), 0);
        CHECK_EQ(ompx_event_create(1, hears, NULL, 0, &event), 0);
        CHECK_EQ(ompx_invoke(other, relays, &event, sizeof event, &done), 0);
        CHECK_EQ(ompx_future_wait(done), 0);
        CHECK_EQ(ompx_future_free(done), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    } else {
        ompx_future_t done; /* long, but not in vain */
        CHECK_EQ(ompx_invoke(other, computes, NULL, 0, &done), 0);
        CHECK_EQ(ompx_future_wait(done), 0);
        CHECK_EQ(ompx_future_free(done), 0);
    }
    return check_result();
}
