/* GPUs of all ranks as devices: numbers, data on each, copies from one to another, chains over all devices,
 * variables, devices that the runtime chooses, blocks of coherent arrays; what fails is said. Built with
 * images for ranks and for GPUs, or for ranks alone. Run with two GPUs on each rank. */
#include "array_graph.h"
#include <unistd.h>
enum { EACH = 2, N = 3000, REGIONS = 48, LARGE = 5 * (1 << 20) + 12345 };

/* OpenMP 6.0; not in all headers. */
extern const char *omp_get_uid_from_device(int);
extern int omp_get_device_from_uid(const char *);

static int devices, first_gpu, ranks;

/* Of each device: how often the regions below ran there, by what was asked for and by whom: all ranks that
 * run main use the same devices. */
#pragma omp declare target
long ran[8];
#pragma omp end declare target

static void numbers(void)
{
    int me = ompx_cluster_rank();
    ranks = ompx_cluster_size();
    devices = omp_get_num_devices();
    while (first_gpu < devices && ompx_device_kind(first_gpu) == OMPX_CPU)
        first_gpu++;
    CHECK_EQ(devices - first_gpu, EACH * ranks);
    for (int d = first_gpu; d < devices; d++) {
        CHECK_EQ(ompx_device_kind(d), OMPX_GPU);
        CHECK_EQ(ompx_device_rank(d), (d - first_gpu) / EACH);
        CHECK_EQ(omp_get_device_from_uid(omp_get_uid_from_device(d)), d);
    }
    /* The ranks come first, without a gap, and the last one is a device in head and in spmd mode. */
    for (int d = 0; d < first_gpu; d++)
        CHECK_EQ(ompx_device_rank(d), ranks - first_gpu + d);
    CHECK_EQ(ompx_device_rank(devices), me);
    CHECK_EQ(ompx_device_kind(-1), OMPX_CPU);
    CHECK_EQ(ompx_device_kind(devices + 1), OMPX_E_DEVICE);
    CHECK_EQ(ompx_device_rank(ompx_device_any()), OMPX_E_DEVICE);
}

/* Structured and unstructured data, pieces of it, pointers in structures, single values. */
static void mapping(int d)
{
    long *a = malloc(N * sizeof *a), sum = 0, factor = 3;
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp target data map(tofrom : a[0 : N]) device(d)
    {
#pragma omp target device(d) firstprivate(factor)
        for (int i = 0; i < N; i++)
            a[i] = a[i] * factor + 1;
        CHECK_EQ(a[7], 7);
        a[5] = 1000;
#pragma omp target update to(a[5 : 1]) device(d)
#pragma omp target device(d) map(tofrom : sum)
        for (int i = 0; i < N; i++)
            sum += a[i];
#pragma omp target update from(a[N - 1 : 1]) device(d)
        CHECK_EQ(a[N - 1], 3L * (N - 1) + 1);
    }
    CHECK_EQ(sum, 3L * N * (N - 1) / 2 + N - 16 + 1000);
    CHECK_EQ(a[7], 22);
    struct {
        int count;
        long *data;
    } list = {N, a};
#pragma omp target enter data map(to : list, list.data[0 : N]) device(d)
#pragma omp target map(from : sum) device(d)
    {
        sum = 0;
        for (int i = 0; i < list.count; i++)
            sum += list.data[i];
    }
#pragma omp target exit data map(release : list.data[0 : N]) map(delete : list) device(d)
    CHECK_EQ(sum, 3L * N * (N - 1) / 2 + N - 16 + 1000);
    free(a);
}

static unsigned char byte(size_t i, int salt)
{
    return (unsigned char)(i * 13 + i / 700 + salt);
}

/* The host to one device, from there to another one, and back; with every size that travels in another way.
 */
static void from_to(int from, int to)
{
    const size_t sizes[] = {1, 4096, 4097, 1 << 20, LARGE};
    unsigned char *here = malloc(LARGE), *back = malloc(LARGE);
    char *there = omp_target_alloc(LARGE + 64, from), *other = omp_target_alloc(LARGE + 64, to);
    CHECK(there && other);
    for (int s = 0; s < 5; s++) {
        size_t n = sizes[s];
        if (n == LARGE && (from + to) % 3 != 0)
            continue; /* takes long with slow devices */
        for (size_t i = 0; i < n; i++)
            here[i] = byte(i, from + 5 * to + s);
        memset(back, 0, n);
        CHECK_EQ(omp_target_memcpy(there, here, n, 24, 0, from, omp_get_initial_device()), 0);
        CHECK_EQ(omp_target_memcpy(other, there, n, 40, 24, to, from), 0);
        CHECK_EQ(omp_target_memcpy(back, other, n, 0, 40, omp_get_initial_device(), to), 0);
        CHECK(memcmp(here, back, n) == 0);
    }
    omp_target_free(there, from);
    omp_target_free(other, to);
    free(here);
    free(back);
}

/* Each link of each chain runs on the next device, or where the runtime wants to (`any` not 0). */
static void chains(int any)
{
    enum { CHAINS = 6, LINKS = 12 };
    long(*a)[N] = calloc(CHAINS, sizeof *a);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int link = 0; link < LINKS; link++)
        for (int c = 0; c < CHAINS; c++) {
            long *mine = a[c];
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N]) \
    device(any ? any : (c + link) % devices)
            for (int i = 0; i < N; i++)
                mine[i] = mine[i] * 2 + i % 3 + 1;
        }
    long wrong = 0;
    for (int i = 0; i < N; i++)
        for (int c = 0; c < CHAINS; c++)
            wrong += a[c][i] != ((1L << LINKS) - 1) * (i % 3 + 1);
    CHECK_EQ(wrong, 0);
    free(a);
}

/* REGIONS regions for a device among these; how many ran on each of 0..devices, the host last. In `which`,
 * the place of their count. */
static void spread(int any, int which, long *counts)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int r = 0; r < REGIONS; r++) {
#pragma omp target nowait device(any) map(to : which)
        {
            usleep(3000);
            __atomic_fetch_add(&ran[which], 1, __ATOMIC_RELAXED);
        }
    }
    counts[devices] = ran[which];
    for (int d = 0; d < devices; d++) {
#pragma omp target update from(ran) device(d)
        counts[d] = ran[which];
    }
}

static void chosen(void)
{
    const int me = ompx_cluster_rank();
    const int any[] = {ompx_device_any(), ompx_device_any_gpu(), ompx_device_any_rank()};
    for (int which = 0; which < 3; which++) {
        long counts[32] = {0}, on_ranks = 0, on_gpus = 0, idle = 0;
        spread(any[which], which + 3 * me, counts);
        for (int d = 0; d < devices; d++)
            *(d < first_gpu ? &on_ranks : &on_gpus) += counts[d];
        const int first = which == 1 ? first_gpu : 0, end = which == 2 ? first_gpu : devices;
        for (int d = first; d < end; d++)
            idle += counts[d] == 0;
        CHECK_EQ(counts[devices], which == 2 && first_gpu == 0 ? REGIONS : 0);
        /* How regions of unknown length are shared among devices of two kinds is the policy's business. */
        const int used = end - first - idle;
        CHECK(which == 1 ? 2 * used > end - first : used > 1 || end - first < 3);
        if (first_gpu > 0)
            CHECK_EQ(which == 0 ? on_ranks + on_gpus : which == 1 ? on_gpus : on_ranks, REGIONS);
    }
}

#pragma omp declare target
int table[N];
#pragma omp end declare target

/* A variable of the image, of which each device has one. */
static void variables(void)
{
    for (int d = 0; d < devices; d++) {
#pragma omp target device(d)
        for (int i = 0; i < N; i++)
            table[i] = i + d;
    }
    for (int d = 0; d < devices; d++) {
#pragma omp target update from(table) device(d)
        CHECK_EQ(table[N - 1], N - 1 + d);
    }
}

/* Another rank uses all devices, those of this one among them. */
static void elsewhere(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    first_gpu = *(const int *)args;
    devices = omp_get_num_devices();
    ranks = ompx_cluster_size();
    CHECK(ompx_cluster_rank() == ranks - 1);
    for (int d = 0; d < devices; d++)
        mapping(d);
    from_to(first_gpu, devices - 1);
    from_to(devices - 1, first_gpu);
    chains(0);
    ompx_result_set(result, &check_failed, sizeof check_failed);
}

static void by_another_rank(void)
{
    ompx_future_t future;
    int failed = -1;
    CHECK_EQ(ompx_invoke(ranks - 1, elsewhere, &first_gpu, sizeof first_gpu, &future), 0);
    CHECK_EQ(ompx_future_get(future, &failed, sizeof failed), 0);
    CHECK_EQ(failed, 0);
}

/* OMPX_SCHED=manual: the regions of `chosen` by number. */
static void by_hand(void)
{
    long counts[32] = {0};
    spread(ompx_device_any(), 0, counts);
    for (int d = 0; d < devices; d++)
        CHECK_EQ(counts[d], d == 0 || d == first_gpu || d == devices - 1 ? REGIONS / 3 : 0);
}

/* Without an image for GPUs regions for them run on the host, and those for any device on ranks. */
static void without_images(void)
{
    int here = 0, there = 0, pid = getpid();
#pragma omp target device(devices - 1) map(from : here)
    here = getpid();
    CHECK_EQ(here, pid);
#pragma omp target device(ompx_device_any()) map(from : there)
    there = getpid();
    CHECK(first_gpu == 0 || ompx_cluster_rank() != 0 || there != 0);
    char *room = omp_target_alloc(100, devices - 1), text[100] = "", other[100] = "by way of a GPU";
    CHECK_EQ(omp_target_memcpy(room, other, 100, 0, 0, devices - 1, omp_get_initial_device()), 0);
    CHECK_EQ(omp_target_memcpy(text, room, 100, 0, 0, omp_get_initial_device(), devices - 1), 0);
    CHECK(strcmp(text, other) == 0);
    omp_target_free(room, devices - 1);
}

/* On the last GPU, which is another rank's: memory that there is not, and a kernel that fails. */
static void fails(const char *what)
{
    int last = devices - 1, x = 1;
    CHECK(omp_target_alloc((size_t)1 << 40, last) == NULL);
    if (strcmp(what, "memory") == 0) {
        static char much[100 << 20];
#pragma omp target enter data map(to : much) device(last)
    }
    for (int i = 0; i < 4; i++) {
#pragma omp target map(tofrom : x) device(last)
        x++;
    }
    printf("nothing failed: %d\n", x);
}

int main(int argc, char **argv)
{
    numbers();
    if (argc > 1 && strcmp(argv[1], "plain") == 0) {
        without_images();
        return check_result();
    }
    if (argc > 1 && strcmp(argv[1], "hand") == 0) {
        by_hand();
        return check_result();
    }
    if (argc > 1 && strcmp(argv[1], "arrays") == 0) {
        graph(6, 700, 60, 21);
        graph(8, 70000, 40, 22);
        return check_result();
    }
    if (argc > 1) {
        fails(argv[1]);
        return 0;
    }
    for (int d = 0; d < devices; d++)
        mapping(d);
    variables();
    for (int from = 0; from <= devices; from++)
        for (int to = 0; to <= devices; to++)
            if (from >= first_gpu || to >= first_gpu)
                from_to(from, to);
    chains(0);
    chains(ompx_device_any_gpu());
    chains(ompx_device_any());
    chosen();
    if (ompx_cluster_rank() == 0)
        by_another_rank();
    return check_result();
}
