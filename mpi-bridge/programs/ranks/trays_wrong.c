/* Persistent tasks and trays that are used wrongly, by the first argument: the line comes from whoever can
 * tell. */
#include "device.h"
#include "ompx.h"

static void nothing(const ompx_run_t *run, const void *args, size_t bytes)
{
    (void)run;
    (void)args;
    (void)bytes;
}

static void wants_tray(const ompx_run_t *run, const void *args, size_t bytes)
{
    size_t size = 1;
    (void)args;
    (void)bytes;
    CHECK(ompx_run_in(run, 6, &size) == NULL && size == 0);
}

static ompx_ptask_t a, b;
static long value = 3;

/* What the owner of the task finds. */
static void found_there(int how)
{
    ompx_tray_t from = ompx_tray(a, 0), into = ompx_tray(b, 0), both[2] = {from, into};
    float half = 0.5f;
    switch (how) {
    case 1: /* and the receiver keeps what it has */
        CHECK_EQ(ompx_tray_write(into, OMPX_LONG, 1, &value), 0);
        CHECK_EQ(ompx_tray_send_recv(from, into), 0);
        value = 0;
        CHECK_EQ(ompx_tray_read(into, &value, sizeof value), 0);
        CHECK_EQ(value, 3);
        break;
    case 2:
        CHECK_EQ(ompx_ptask_execute(a, NULL, 0), 0);
        CHECK_EQ(ompx_ptask_wait(&a, 1), 0);
        break;
    case 3:
        CHECK_EQ(ompx_tray_write(from, OMPX_LONG, 1, &value), 0);
        CHECK_EQ(ompx_tray_write(into, OMPX_FLOAT, 1, &half), 0);
        CHECK_EQ(ompx_tray_reduce(both, 2, into, OMPX_LONG, OMPX_SUM, NULL), 0);
        CHECK_EQ(ompx_tray_read(into, &half, sizeof half), 0);
        break;
    case 4: /* freed, and used; who waits for what it should have sent does not wait for ever */
        CHECK_EQ(ompx_ptask_free(a), 0);
        CHECK_EQ(ompx_ptask_wait(&b, 1), 0);
        CHECK_EQ(ompx_tray_send_recv(from, into), 0);
        CHECK_EQ(ompx_ptask_wait(&b, 1), 0);
        break;
    case 5:
        CHECK_EQ(ompx_ptask_set(a, wants_tray), 0);
        CHECK_EQ(ompx_ptask_execute(a, NULL, 0), 0);
        CHECK_EQ(ompx_ptask_wait(&a, 1), 0);
        break;
    case 6: /* no receiver: nothing is left behind */
        CHECK_EQ(ompx_ptask_free(a), 0);
        CHECK_EQ(ompx_tray_write(into, OMPX_LONG, 1, &value), 0);
        CHECK_EQ(ompx_tray_send_recv(into, from), 0);
        CHECK_EQ(ompx_ptask_wait(&b, 1), 0);
        break;
    }
}

/* What the call itself returns, with a line. */
static void returned(int how)
{
    ompx_tray_t tray = ompx_tray(a, 0);
    ompx_ptask_t none = {0}, far = {99, 1, 1};
    void *memory;
    switch (how) {
    case 10: CHECK_EQ(ompx_tray_read(tray, &value, sizeof value), OMPX_E_TRAY); break;
    case 11:
        CHECK_EQ(ompx_tray_alloc(tray, OMPX_INT8, 7), 0);
        CHECK_EQ(ompx_tray_read(tray, &value, sizeof value), OMPX_E_SIZE);
        break;
    case 12: CHECK_EQ(ompx_ptask_execute(none, NULL, 0), OMPX_E_STALE); break;
    case 13: CHECK_EQ(ompx_ptask_execute(far, NULL, 0), OMPX_E_STALE); break;
    case 14:
        CHECK_EQ(ompx_ptask_free(a), 0);
        CHECK_EQ(ompx_ptask_wait(&a, 1), OMPX_E_STALE);
        break;
    case 15: CHECK_EQ(ompx_tray_alloc(tray, 0x305, 1), OMPX_E_TYPE); break;
    case 16: CHECK_EQ(ompx_tray_reduce(&tray, 1, tray, OMPX_DOUBLE, OMPX_BAND, NULL), OMPX_E_TYPE); break;
    case 17: CHECK_EQ(ompx_tray_bcast(tray, &tray, 0), OMPX_E_COUNT); break;
    case 18: CHECK_EQ(ompx_tray_scatter_file("/nowhere/at/all", OMPX_BYTE, &tray, 1), OMPX_E_FILE); break;
    case 19: CHECK_EQ(ompx_ptask_create(99, 1, &a), OMPX_E_RANK); break;
    case 20: CHECK_EQ(ompx_ptask_numbered(0, &a), OMPX_E_NUMBER); break;
    case 21: CHECK_EQ(ompx_ptask_set(a, (ompx_procedure)16), OMPX_E_FUNCTION); break;
    case 22:
        CHECK_EQ(ompx_tray_gather_file(&tray, 1, OMPX_BYTE, "/tmp/gangway-trays-wrong"), OMPX_E_TRAY);
        break;
    case 24: CHECK_EQ(ompx_dist_free(&value), OMPX_E_STALE); break;
    case 25:
        CHECK_EQ(ompx_dist_alloc(9, OMPX_INT8, OMPX_BLOCK, &memory), 0);
        CHECK_EQ(ompx_dist_get(memory, OMPX_OWNER, 8, 2, &value), OMPX_E_RANGE);
        break;
    case 26:
        CHECK_EQ(ompx_dist_alloc((uint64_t)1 << 58, OMPX_LONG, OMPX_BLOCK, &memory), OMPX_E_MEMORY);
        break;
    case 23: /* OMPX_DEVICES=gpu */ CHECK_EQ(ompx_ptask_create(OMPX_ANY_RANK, 1, &a), OMPX_E_DEVICE); break;
    }
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0, last = ompx_cluster_size() - 1;
    if (how != 23) {
        CHECK_EQ(ompx_ptask_create(last, 1, &a), 0);
        CHECK_EQ(ompx_ptask_create(0, 1, &b), 0);
        if (how != 2)
            CHECK_EQ(ompx_ptask_set(a, nothing), 0);
    } else
        CHECK_EQ(ompx_count_devices(OMPX_ALL_DEVICES), 0);
    found_there(how);
    returned(how);
    return check_result();
}
