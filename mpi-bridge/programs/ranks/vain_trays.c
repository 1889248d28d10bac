/* Persistent tasks and handlers of objects that wait in circles, which GANGWAY_CHECK names, by the first
 * argument. */
#include "device.h"
#include "ompx.h"
#include "report_awaited.h"
#include <unistd.h>

static ompx_ptask_t task[2];

/* Tray 0 is the task's own, for the other one; tray 1 names that. */
static void reads_the_other(const ompx_run_t *run, const void *args, size_t bytes)
{
    ompx_ptask_t other = *(const ompx_ptask_t *)ompx_run_in(run, 1, NULL);
    long value;
    (void)args;
    (void)bytes;
    usleep(500000); /* the other one must have been asked to run, too: what is read before that waits for
                       nobody */
    ompx_tray_read(ompx_tray(other, 0), &value, sizeof value);
}

static void reads(const void *args, size_t bytes, ompx_result_t *result)
{
    long value;
    (void)bytes;
    ompx_tray_read(ompx_tray(*(const ompx_ptask_t *)args, 0), &value, sizeof value);
    ompx_result_set(result, &value, sizeof value);
}

/* On its rank it waits for a function on rank 0, which wants a tray of this task. */
static void invokes(const ompx_run_t *run, const void *args, size_t bytes)
{
    ompx_ptask_t own = ompx_run_task(run);
    ompx_future_t done;
    (void)args;
    (void)bytes;
    ompx_invoke(0, reads, &own, sizeof own, &done);
    ompx_future_wait(done);
}

static void computes(const ompx_run_t *run, const void *args, size_t bytes)
{
    (void)run;
    (void)args;
    (void)bytes;
    for (double end = omp_get_wtime() + 3; omp_get_wtime() < end;)
        ;
}

static void sees(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)object;
    (void)data;
    (void)args;
    (void)bytes;
    (void)result;
}

/* Waits for another handler, which waits until this one has let go of the object. */
static void writes(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_future_t seen;
    (void)data;
    (void)args;
    (void)bytes;
    (void)result;
    ompx_object_invoke(object, OMPX_READ, sees, NULL, 0, &seen);
    ompx_future_wait(seen);
}

static void tasks(ompx_procedure procedure)
{
    long zero = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(ompx_ptask_create(i == 0 ? 0 : ompx_cluster_size() - 1, 1, &task[i]), 0);
        CHECK_EQ(ompx_ptask_set(task[i], procedure), 0);
        CHECK_EQ(ompx_tray_write(ompx_tray(task[i], 0), OMPX_LONG, 1, &zero), 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK_EQ(ompx_tray_write(ompx_tray(task[i], 1), OMPX_ENTITY(sizeof task[0]), 1, &task[1 - i]), 0);
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0;
    if (how > 0)
        catch_report();
    if (how == 1) {
        tasks(reads_the_other);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(ompx_ptask_execute(task[i], NULL, 0), 0);
    } else if (how == 2) {
        tasks(invokes);
        CHECK_EQ(ompx_ptask_execute(task[1], NULL, 0), 0);
    } else if (how == 3) {
        ompx_object_t object;
        CHECK_EQ(ompx_object_create(&how, sizeof how, &object), 0);
        CHECK_EQ(ompx_object_invoke(object, OMPX_WRITE, writes, NULL, 0, NULL), 0);
        CHECK_EQ(ompx_object_migrate(object, ompx_cluster_size() - 1), 0);
    } else {
        /* long, with much that waits, but not in vain */
        tasks(computes);
        CHECK_EQ(ompx_ptask_execute(task[0], NULL, 0), 0);
        for (int i = 0; i < 20; i++) {
            CHECK_EQ(ompx_tray_send_recv(ompx_tray(task[i % 2], 0), ompx_tray(task[1 - i % 2], 0)), 0);
            CHECK_EQ(ompx_tray_send_recv(ompx_tray(task[i % 2], 1), ompx_tray(task[1 - i % 2], 2)), 0);
        }
        CHECK_EQ(ompx_ptask_wait_all(), 0);
        CHECK_EQ(ompx_ptask_free_all(), 0);
        return check_result();
    }
    await_report(); /* runs all the while */
    _exit(3);
}
