/* Persistent tasks and their trays: procedures that execute again and again, transfers that are dependences,
 * collectives, files. No waits but where a value is read: the order of the calls is enough. In spmd mode
 * every rank does all of it at the same time, with tasks on all ranks. */
#include "device.h"
#include "ompx.h"
#include <malloc.h>
#include <unistd.h>

enum { TASKS = 7, ROUNDS = 40, MANY = 10000, LONG = 50000 };

static ompx_ptask_t t[TASKS];
static ompx_tray_t all[3][TASKS]; /* by tray and task */
static int ranks, me;

static long read_long(ompx_tray_t tray)
{
    long value = -1;
    CHECK_EQ(ompx_tray_read(tray, &value, sizeof value), 0);
    return value;
}

static void write_long(ompx_tray_t tray, long value)
{
    CHECK_EQ(ompx_tray_write(tray, OMPX_LONG, 1, &value), 0);
}

/* Tray 0 = 3 * tray 0 + argument. */
static void step(const ompx_run_t *run, const void *args, size_t bytes)
{
    size_t size;
    long *x = ompx_run_inout(run, 0, &size);
    CHECK(bytes == sizeof *x && size == sizeof *x && ompx_run_task(run).rank == ompx_cluster_rank());
    x[0] = 3 * x[0] + *(const long *)args;
}

/* Tray 1 = tray 0 + tray 2, long ones. */
static void add(const ompx_run_t *run, const void *args, size_t bytes)
{
    size_t a_size, b_size;
    const double *a = ompx_run_in(run, 0, &a_size), *b = ompx_run_in(run, 2, &b_size);
    double *sum = ompx_run_out(run, 1, OMPX_DOUBLE, a_size / sizeof *a);
    (void)args;
    CHECK(bytes == 0 && a_size == b_size);
    for (size_t i = 0; i < a_size / sizeof *a; i++)
        sum[i] = a[i] + b[i];
}

static void make(void)
{
    CHECK_EQ(ompx_ptask_create(OMPX_ANY_RANK, TASKS, t), 0);
    for (int i = 0; i < TASKS; i++)
        for (unsigned tray = 0; tray < 3; tray++)
            all[tray][i] = ompx_tray(t[i], tray);
    CHECK_EQ(ompx_count_devices(OMPX_CPU), omp_get_num_devices() > 0 ? omp_get_num_devices() : 1);
    CHECK_EQ(ompx_count_devices(OMPX_ALL_DEVICES), ompx_count_devices(OMPX_CPU));
    CHECK_EQ(ompx_count_devices(OMPX_GPU), 0);
}

/* Executions of a task follow each other, and what is written and read in between is where it was asked. */
static void in_order(void)
{
    long want = 1, seen[3];
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(ompx_ptask_set(t[i], step), 0);
    write_long(all[0][1], 1);
    for (long n = 0; n < 20; n++) {
        want = 3 * want + n;
        CHECK_EQ(ompx_ptask_execute(t[1], &n, sizeof n), 0);
        if (n % 7 == 0) {
            CHECK_EQ(ompx_tray_send_recv(all[0][1], all[0][2]), 0);
            seen[n / 7] = want;
            CHECK_EQ(read_long(all[0][2]), seen[n / 7]);
        }
    }
    CHECK_EQ(read_long(all[0][1]), want);
    write_long(all[0][1], 5);
    CHECK_EQ(read_long(all[0][1]), 5);
}

/* A token goes round: each task receives, executes, sends. */
static void ring(void)
{
    long want = 7, n = 1;
    write_long(all[0][0], 7);
    for (int i = 0; i < ROUNDS * TASKS; i++) {
        CHECK_EQ(ompx_ptask_execute(t[i % TASKS], &n, sizeof n), 0);
        CHECK_EQ(ompx_tray_send_recv(all[0][i % TASKS], all[0][(i + 1) % TASKS]), 0);
        want = (long)(3 * (unsigned long)want + 1);
    }
    CHECK_EQ(read_long(all[0][0]), want);
}

/* All at the same time: tray 1 of each becomes tray 0 of its neighbour, although all of them are read and
 * written. */
static void shift(void)
{
    for (int i = 0; i < TASKS; i++)
        write_long(all[0][i], 100 + i);
    for (int n = 0; n < ROUNDS; n++) {
        for (int i = 0; i < TASKS; i++)
            CHECK_EQ(ompx_tray_send_recv(all[0][i], all[1][(i + 1) % TASKS]), 0);
        for (int i = 0; i < TASKS; i++)
            CHECK_EQ(ompx_tray_send_recv(all[1][i], all[0][i]), 0);
    }
    CHECK_EQ(ompx_ptask_wait_all(), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(read_long(all[0][(i + ROUNDS) % TASKS]), 100 + i);
}

static void concatenate(void *into, const void *from, size_t count)
{
    unsigned long *x = into;
    const unsigned long *y = from;
    for (size_t i = 0; i < count; i++)
        x[i] = 10 * x[i] + y[i];
}

static void collectives(void)
{
    static double x[LONG], y[LONG];
    ompx_type_t type;
    size_t bytes;
    for (int i = 0; i < LONG; i++)
        x[i] = 1.0 / (i + 1);
    CHECK_EQ(ompx_tray_write(all[0][3], OMPX_DOUBLE, LONG, x), 0);
    CHECK_EQ(ompx_tray_bcast(all[0][3], all[0], TASKS), 0);
    CHECK_EQ(ompx_tray_scatter(all[0][3], all[1], TASKS), 0);
    CHECK_EQ(ompx_tray_size(all[1][TASKS - 1], &bytes, &type), 0);
    CHECK(bytes == LONG / TASKS * sizeof *x && type == OMPX_DOUBLE);
    CHECK_EQ(ompx_tray_gather(all[1], TASKS, all[2][4]), 0);
    CHECK_EQ(ompx_tray_read(all[2][4], y, sizeof y), 0);
    CHECK_EQ(memcmp(x, y, sizeof y), 0);

    /* Each has its own multiple; the sum has the rounding of the list's order. */
    for (int i = 0; i < TASKS; i++) {
        for (int k = 0; k < LONG; k++)
            y[k] = x[k] * (i + 0.1);
        CHECK_EQ(ompx_tray_write(all[1][i], OMPX_DOUBLE, LONG, y), 0);
    }
    CHECK_EQ(ompx_tray_reduce(all[1], TASKS, all[2][5], OMPX_DOUBLE, OMPX_SUM, NULL), 0);
    CHECK_EQ(ompx_tray_allreduce(all[1], all[0], TASKS, OMPX_DOUBLE, OMPX_MAX, NULL), 0);
    CHECK_EQ(ompx_tray_read(all[2][5], y, sizeof y), 0);
    int wrong = 0;
    for (int k = 0; k < LONG; k++) {
        double sum = x[k] * 0.1;
        for (int i = 1; i < TASKS; i++)
            sum += x[k] * (i + 0.1);
        wrong += sum != y[k];
    }
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(ompx_tray_read(all[0][i], y, sizeof y), 0);
        CHECK(y[0] == TASKS - 1 + 0.1 && y[LONG - 1] == x[LONG - 1] * (TASKS - 1 + 0.1));
    }

    /* One that does not commute. */
    for (unsigned long i = 0; i < TASKS; i++) {
        unsigned long digits[2] = {i, 9 - i};
        CHECK_EQ(ompx_tray_write(all[0][i], OMPX_ENTITY(sizeof(long)), 2, digits), 0);
    }
    unsigned long digits[2];
    CHECK_EQ(ompx_tray_reduce(all[0], TASKS, all[0][2], OMPX_ENTITY(sizeof(long)), OMPX_USER, concatenate),
             0);
    CHECK_EQ(ompx_tray_read(all[0][2], digits, sizeof digits), 0);
    CHECK_EQ(digits[0], 123456);
    CHECK_EQ(digits[1], 9876543);
}

/* What was sent does not change when the sender goes on. */
static void long_trays(void)
{
    static double x[LONG], y[LONG];
    CHECK_EQ(ompx_ptask_set(t[0], add), 0);
    for (int i = 0; i < LONG; i++)
        x[i] = i;
    CHECK_EQ(ompx_tray_write(all[0][0], OMPX_DOUBLE, LONG, x), 0);
    CHECK_EQ(ompx_tray_alloc(all[2][0], OMPX_DOUBLE, LONG), 0);
    for (int n = 0; n < 10; n++) {
        CHECK_EQ(ompx_ptask_execute(t[0], NULL, 0), 0);
        CHECK_EQ(ompx_tray_send_recv(all[1][0], all[1][1]), 0);
        CHECK_EQ(ompx_tray_send_recv(all[1][1], all[2][0]), 0);
    }
    x[7] = -1; /* copied by the call */
    CHECK_EQ(ompx_tray_read(all[1][1], y, sizeof y), 0);
    CHECK(y[1] == 10 && y[7] == 70 && y[LONG - 1] == 10.0 * (LONG - 1));
    CHECK_EQ(ompx_tray_read(all[0][0], y, sizeof y), 0);
    CHECK(y[7] == 7);
    CHECK_EQ(ompx_ptask_set(t[0], step), 0);
}

static void many(void)
{
    size_t before = 0;
    write_long(all[0][5], 0);
    for (long n = 0; n < MANY; n++) {
        long zero = n % 2;
        CHECK_EQ(ompx_ptask_execute(t[5], &zero, sizeof zero), 0);
        if (n % 10 == 0)
            CHECK_EQ(ompx_tray_send_recv(all[0][5], all[0][6]), 0);
        if (n % 1000 == 999)
            write_long(all[0][5], 0);
        if (n == MANY / 5)
            before = mallinfo2().uordblks;
    }
    CHECK_EQ(ompx_ptask_wait(t, TASKS), 0);
    CHECK_EQ(read_long(all[0][5]), 0);
    if (mallinfo2().uordblks > before + (4 << 20))
        CHECK_EQ(mallinfo2().uordblks, before);
}

static void files(void)
{
    struct {
        char name[3];
        int n;
    } body[23], back[23];
    char from[64], to[64];
    snprintf(from, sizeof from, "/tmp/gangway-trays-%d-in", getpid());
    snprintf(to, sizeof to, "/tmp/gangway-trays-%d-out", getpid());
    memset(body, 0, sizeof body);
    for (int i = 0; i < 23; i++)
        body[i].n = i * i;
    FILE *f = fopen(from, "w");
    fwrite(body, sizeof body, 1, f);
    fclose(f);
    CHECK_EQ(ompx_tray_scatter_file(from, OMPX_ENTITY(sizeof *body), all[2], TASKS), 0);
    size_t bytes;
    CHECK_EQ(ompx_tray_size(all[2][0], &bytes, NULL), 0);
    CHECK_EQ(bytes, 4 * sizeof *body);
    CHECK_EQ(ompx_tray_size(all[2][TASKS - 1], &bytes, NULL), 0);
    CHECK_EQ(bytes, 3 * sizeof *body);
    CHECK_EQ(ompx_tray_gather_file(all[2], TASKS, OMPX_ENTITY(sizeof *body), to), 0);
    f = fopen(to, "r");
    CHECK(f && fread(back, sizeof back, 1, f) == 1 && fgetc(f) == EOF);
    if (f)
        fclose(f);
    CHECK_EQ(memcmp(body, back, sizeof body), 0);
    unlink(from);
    unlink(to);
}

/* A procedure that asks others, and waits for them. */
static void asks(const ompx_run_t *run, const void *args, size_t bytes)
{
    ompx_ptask_t mine[2];
    (void)args;
    (void)bytes;
    CHECK_EQ(ompx_ptask_create((ompx_run_task(run).rank + 1) % ompx_cluster_size(), 2, mine), 0);
    CHECK_EQ(ompx_ptask_set(mine[0], step), 0);
    write_long(ompx_tray(mine[0], 0), 4);
    for (long n = 0; n < 50; n++) {
        long zero = 0, one = 1;
        CHECK_EQ(ompx_ptask_execute(mine[0], n % 2 ? &zero : &one, sizeof n), 0);
        if (n % 10 == 9)
            write_long(ompx_tray(mine[0], 0), 4);
    }
    CHECK_EQ(ompx_tray_send_recv(ompx_tray(mine[0], 0), ompx_tray(mine[1], 9)), 0);
    *(long *)ompx_run_out(run, 0, OMPX_LONG, 1) = read_long(ompx_tray(mine[1], 9));
    CHECK_EQ(ompx_ptask_free(mine[0]), 0);
    CHECK_EQ(ompx_ptask_free(mine[1]), 0);
}

static void nested(void)
{
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(ompx_ptask_set(t[i], asks), 0);
        CHECK_EQ(ompx_ptask_execute(t[i], NULL, 0), 0);
    }
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(read_long(all[0][i]), 4);
}

static void in_tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i)
    {
        CHECK_EQ(ompx_ptask_set(t[i], step), 0);
        for (long n = 0; n < 100; n++) {
            long zero = 0;
            write_long(all[0][i], n);
            CHECK_EQ(ompx_ptask_execute(t[i], &zero, sizeof zero), 0);
            CHECK_EQ(read_long(all[0][i]), 3 * n);
        }
    }
}

int main(void)
{
    ranks = ompx_cluster_size();
    me = ompx_cluster_rank();
    make();
    in_order();
    ring();
    shift();
    collectives();
    long_trays();
    in_order();
    many();
    files();
    nested();
    in_tasks();
    CHECK_EQ(ompx_tray_free(all[0][0]), 0);
    CHECK_EQ(ompx_tray_free_all(t[0]), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(ompx_ptask_free(t[i]), 0);
    return check_result();
}
