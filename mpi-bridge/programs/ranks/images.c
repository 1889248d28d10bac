/* An object with target code that is closed and opened again: other ranks let their copies of its image go,
 * and load new ones, whose variables have their first values. clang only: gcc's regions have no images there.
 */
#define _GNU_SOURCE
#include "device.h"
#include "ompx.h"
#include <dlfcn.h>
#include <unistd.h>

enum { ROUNDS = 12, VISITS = 3 };

#pragma omp declare target
static long visits = 100;
#pragma omp end declare target

/* As the compiler's constructor calls it, and what it brings. */
static void *brought;
void __tgt_unregister_lib(void *);
void __tgt_register_lib(void *what)
{
    brought = what;
    ((void (*)(void *))dlsym(RTLD_NEXT, "__tgt_register_lib"))(what);
}

static long visit(int device)
{
    long before = -1;
#pragma omp target device(device) map(from : before)
#pragma omp atomic capture
    before = visits++;
    return before;
}

/* How many copies of images this rank has: each begins at the first byte of its file. */
static void count(const void *args, size_t bytes, ompx_result_t *result)
{
    int copies = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        copies += strstr(line, " 00000000 ") && strstr(line, "memfd:gangway-image");
    fclose(maps);
    (void)args;
    (void)bytes;
    CHECK_EQ(ompx_result_set(result, &copies, sizeof copies), 0);
}

static int copies_of(int rank)
{
    int copies = -1;
    ompx_future_t future;
    CHECK_EQ(ompx_invoke(rank, count, NULL, 0, &future), 0);
    CHECK_EQ(ompx_future_get(future, &copies, sizeof copies), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    return copies;
}

/* A copy is closed when its rank has time for that. */
static void expect_copies(int rank, int wanted)
{
    int copies = copies_of(rank);
    for (int i = 0; copies != wanted && i < 300; i++) {
        usleep(1000);
        copies = copies_of(rank);
    }
    CHECK_EQ(copies, wanted);
}

int main(void)
{
    if (ompx_cluster_rank() != 0)
        return 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int d = 0; d < omp_get_num_devices(); d++) {
            for (int before = 0; before < VISITS; before++)
                CHECK_EQ(visit(d), 100 + before);
            expect_copies(ompx_device_rank(d), 1);
        }
        __tgt_unregister_lib(brought);
        __tgt_register_lib(brought);
    }
    /* By several threads at once, that all come upon a new copy. */
    for (int d = 0; d < omp_get_num_devices(); d++) {
        long sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
        for (int i = 0; i < 40; i++)
            sum += visit(d);
        CHECK_EQ(sum, 40 * 100 + 39 * 40 / 2);
        expect_copies(ompx_device_rank(d), 1);
    }
    return check_result();
}
