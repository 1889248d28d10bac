/* What a task on another rank costs: one after the other, without and with data, and many at once. Times of
 * one task, the least and the median of some rounds.
 *
 *     pingpong [rounds [tasks of a round]]
 *
 * mpi/pingpong.c measures the same messages by MPI calls. */
#include "example.h"
#include "pingpong.h"
#include <string.h>

static int other;            /* the last rank, as a device */
static long bytes_each;      /* that a round of `both_ways` sends */
static unsigned char *block; /* of LARGEST */
static unsigned char in[IN], out[OUT], kept[OUT];
static long wrong, tasks;

/* ---- rounds: so many tasks
 * --------------------------------------------------------------------------------------------- */

static void empty(long count)
{
    for (long i = 0; i < count; i++)
#pragma omp target device(other)
        ;
}

static void in_and_out(long count)
{
    for (long i = 0; i < count; i++) {
        in[i % IN]++;
#pragma omp target device(other) map(to : in) map(from : out)
        for (int o = 0; o < OUT; o++)
            out[o] = in[4 * o] ^ in[4 * o + 1] ^ in[4 * o + 2] ^ in[4 * o + 3];
        int at = (int)(i % IN / 4);
        wrong += out[at] != (in[4 * at] ^ in[4 * at + 1] ^ in[4 * at + 2] ^ in[4 * at + 3]);
    }
}

/* What lives there is counted up; `main` looks. */
static void counted(long count)
{
    for (long i = 0; i < count; i++)
#pragma omp target device(other) map(to : kept)
        kept[0]++;
}

static void stream(long count)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < count; i++) {
#pragma omp target device(other) nowait
        ;
    }
}

static void both_ways(long count)
{
    long last = bytes_each - 1;
    for (long i = 0; i < count; i++) {
        unsigned char first = block[0], end = block[last];
#pragma omp target device(other) map(tofrom : block[0 : bytes_each]) firstprivate(last)
        {
            block[0]++;
            block[last]++;
        }
        wrong += block[0] != (unsigned char)(first + 1) || block[last] != (unsigned char)(end + 1);
    }
}

/* ----------------------------------------------------------------------------------------------------------------------
 */

/* All bytes go there, are changed, and come back. */
static void check_block(long bytes)
{
    for (long i = 0; i < bytes; i++)
        block[i] = (unsigned char)(i % 251 + bytes);
#pragma omp target device(other) map(tofrom : block[0 : bytes])
    for (long i = 0; i < bytes; i++)
        block[i] = (unsigned char)(3 * block[i] + 1);
    for (long i = 0; i < bytes; i++)
        wrong += block[i] != (unsigned char)(3 * (i % 251 + bytes) + 1);
}

/* What is `kept` on the other rank must have counted all tasks of its rounds, modulo 256; the copy here none.
 */
static struct times measure_kept(void)
{
    struct times times;
#pragma omp target enter data device(other) map(to : kept)
    times = measure("data are there", counted, tasks, omp_get_wtime);
    int counts_here = kept[0] != 0 && other != omp_get_initial_device();
#pragma omp target exit data device(other) map(from : kept)
    wrong += counts_here || kept[0] != (unsigned char)((rounds + 1) * tasks);
    return times;
}

int main(int argc, char **argv)
{
    struct times all[4 + SIZES];
    int count = 0, devices = omp_get_num_devices();
    rounds = argument(argc, argv, 1, 3);
    tasks = argument(argc, argv, 2, 20);
    other = devices > 0 ? devices - 1 : omp_get_initial_device();
    if (has_nothing_to_begin())
        return 0;
    if (rounds < 1 || rounds > MOST_ROUNDS || tasks < 1) {
        fprintf(stderr, "wants 1 to %d rounds, and tasks\n", MOST_ROUNDS);
        return 2;
    }
    block = memory(LARGEST);
    all[count++] = measure("empty", empty, tasks, omp_get_wtime);
    all[count++] = measure("256 B in, 64 B out", in_and_out, tasks, omp_get_wtime);
    all[count++] = measure_kept();
    all[count++] = measure("stream", stream, 50 * tasks, omp_get_wtime);
    for (int s = 0; s < SIZES; s++) {
        char what[40];
        check_block(bytes_each = sizes[s]);
        snprintf(what, sizeof what, "%ld B in and out", bytes_each);
        all[count++] = measure(what, both_ways, 1 + tasks * ONCE / (ONCE + bytes_each), omp_get_wtime);
    }
    print_times(all, count, wrong);
    free(block);
    return wrong != 0;
}
