/* Tasks that the file of OMPX_TASKS names: XSCALA's token ring. Every rank knows where they are. The argument
 * is how many there are. */
#include "device.h"
#include "ompx.h"

static void accumulate(const ompx_run_t *run, const void *args, size_t bytes)
{
    int first = ompx_run_task(run).id == 0 && *(const int *)args == 0;
    int *token = first ? ompx_run_out(run, 0, OMPX_INT, 1) : ompx_run_inout(run, 0, NULL);
    CHECK_EQ(bytes, sizeof(int));
    for (int i = 0; i < 10; i++)
        ++*token;
}

int main(int argc, char **argv)
{
    int count = ompx_ptask_count(), token = -1;
    int wanted = argc > 1 ? atoi(argv[1]) : 6;
    ompx_ptask_t task[64];
    CHECK_EQ(count, wanted);
    if (ompx_cluster_rank() != 0)
        return check_result();
    for (int i = 0; i < count; i++) {
        CHECK_EQ(ompx_ptask_numbered(i, &task[i]), 0);
        CHECK_EQ(ompx_ptask_set(task[i], accumulate), 0);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < count; i++) {
            CHECK_EQ(ompx_ptask_execute(task[i], &round, sizeof round), 0);
            CHECK_EQ(ompx_tray_send_recv(ompx_tray(task[i], 0), ompx_tray(task[(i + 1) % count], 0)), 0);
        }
    CHECK_EQ(ompx_ptask_wait_all(), 0);
    CHECK_EQ(ompx_tray_read(ompx_tray(task[count - 1], 0), &token, sizeof token), 0);
    CHECK_EQ(token, 30 * count);
    for (int i = 1; i < count; i++)
        CHECK_EQ(ompx_ptask_free(task[i]), 0);
    return check_result();
}
