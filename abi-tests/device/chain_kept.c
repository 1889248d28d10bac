// what: regions that leave what they map for the next ones (OMPX_COHERENCE) follow each other on their GPU; whoever waits for one of them alone finds what it has written, on another GPU, on the host, and without keeping anything
// compilers: clang
// each: WAY ; SET = on ; OMPX_COHERENCE=on / few ; OMPX_COHERENCE=20K / limit ; OMPX_COHERENCE=on OMPX_DEVICE_MEMORY=300K / turns ; OMPX_COHERENCE=on OMPX_SCHED=rrmc
// env: @SET@
// gpus: slow=3000
// offload: yes
// devices: 1,2,3
// threads: 1,4
// mode: preload
// ours: placement
// only-gpu: others do not have queues
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "chained.h"
#pragma weak ompx_device_set
#pragma weak ompx_device_any_gpu
#pragma weak ompx_set_coherence
enum { N = 1200, LINKS = 60, ROUNDS = 4, TILES = 4, MANY = 8 };

static int any, first, last; /* GPUs: any, and two that differ if there is more than one */

static long *storage(int tiles)
{
    long *a = malloc(tiles * N * sizeof *a);
    CHECK(a != NULL);
    for (int i = 0; i < tiles * N; i++)
        a[i] = i;
    return a;
}

/* Links of a chain that all change the same storage: they follow each other wherever the first one is. */
static void one_chain(int where, int at_least)
{
    long *a = storage(1);
    uint64_t before = chained();
    for (int link = 0; link < LINKS; link++) {
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(where)
        for (int i = 0; i < N; i++)
            a[i] = a[i] * 3 % 1000003 + link;
    }
#pragma omp taskwait
    CHECK(chained() - before >= (uint64_t)at_least);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        long value = i;
        for (int link = 0; link < LINKS; link++)
            value = value * 3 % 1000003 + link;
        wrong += a[i] != value;
    }
    CHECK_EQ(wrong, 0);
    free(a);
}

/* Links that read what the one before has written, and write something else. */
static void from_tile_to_tile(int where)
{
    long *a = storage(TILES), model[TILES] = {0, N, 2 * N, 3 * N};
    for (int link = 0; link < LINKS; link++) {
        long *from = a + link % TILES * N, *to = a + (link + 1) % TILES * N;
#pragma omp target nowait depend(in : from[0]) depend(inout : to[0]) map(to : from[0:N]) map(tofrom : to[0:N]) device(where)
        for (int i = 0; i < N; i++)
            to[i] = (to[i] + 5 * from[i]) % 1000003;
        model[(link + 1) % TILES] = (model[(link + 1) % TILES] + 5 * model[link % TILES]) % 1000003;
    }
#pragma omp taskwait
    for (int tile = 0; tile < TILES; tile++)
        CHECK_EQ(a[tile * N], model[tile]);
    free(a);
}

/* A tile of what the region before has mapped as a whole, to change it or to look at it, and the whole around a tile; another GPU has another tile meanwhile, before the many regions on the
 * first one are over. */
static void tiles(int changes)
{
    long *a = storage(TILES), *b = a + N;
    for (int round = 0; round < ROUNDS; round++) {
        if (changes) {
#pragma omp target nowait depend(out : a[0], b[0]) map(tofrom : a[0 : TILES * N]) device(first)
            for (int i = 0; i < TILES * N; i++)
                a[i] += 1;
        } else {
#pragma omp target nowait depend(out : a[0], b[0]) map(to : a[0 : TILES * N]) device(first)
            for (volatile int spin = 0; spin < (a[7] < 0 ? 10 : 1000); spin++) {}
        }
        for (int link = 0; link < MANY; link++) {
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(first)
            for (int i = 0; i < N; i++)
                a[i] += 2;
        }
#pragma omp target nowait depend(inout : b[0]) map(tofrom : b[0:N]) device(last)
        for (int i = 0; i < N; i++)
            b[i] += 3;
    }
#pragma omp taskwait
    int wrong = 0;
    for (int i = 0; i < TILES * N; i++)
        wrong += a[i] != i + ROUNDS * ((i < N ? 2 * MANY : i < 2 * N ? 3 : 0) + changes);
    CHECK_EQ(wrong, 0);
    free(a);
}

/* Readers that wait for the writer alone, while another one that follows it goes on using what it has written. */
static void readers(void)
{
    long *a = storage(1), *seen = calloc(N, sizeof *seen), on_host[ROUNDS] = {0}, elsewhere[ROUNDS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(out : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target nowait depend(in : a[0]) map(to : a[0:N]) device(first)
        for (volatile int spin = 0; spin < (a[7] < 0 ? 100 : 50000); spin++) {}
#pragma omp target nowait depend(in : a[0]) depend(out : seen[0]) map(to : a[0:N]) map(from : seen[0:N]) device(last)
        for (int i = 0; i < N; i++)
            seen[i] = a[i];
#pragma omp task depend(in : seen[0]) depend(out : elsewhere[round]) shared(elsewhere) firstprivate(seen, round)
        elsewhere[round] = seen[N - 1];
    }
#pragma omp taskwait
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(out : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target nowait depend(in : a[0]) map(to : a[0:N]) device(first)
        for (volatile int spin = 0; spin < (a[7] < 0 ? 100 : 50000); spin++) {}
#pragma omp task depend(in : a[0]) shared(on_host) firstprivate(a, round)
        on_host[round] = a[N - 1];
    }
#pragma omp taskwait
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQ(elsewhere[round], N + round);
        CHECK_EQ(on_host[round], N + ROUNDS + round);
    }
    free(a);
    free(seen);
}

/* Regions that do not keep what they map, behind some that do and have merely queued their work: a named GPU, small pieces, and the choice without coherence. */
static void not_keeping(void)
{
    long *a = storage(1), few = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(0)
        for (int i = 0; i < N; i++)
            a[i] *= 3;
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] %= 1000003;
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[5:10], few) device(first)
        for (int i = 5; i < 15; i++)
            few += a[i] += 7;
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] += 4;
        ompx_set_coherence(0);
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0:N]) device(first)
        for (int i = 0; i < N; i++)
            a[i] += a[i] % 5;
        ompx_set_coherence(1);
    }
#pragma omp taskwait
    int wrong = 0;
    long want = 0;
    for (int i = 0; i < N; i++) {
        long value = i;
        for (int round = 0; round < ROUNDS; round++) {
            value = (value + 1) * 3 % 1000003;
            if (i >= 5 && i < 15)
                want += value += 7;
            value += 4;
            value += value % 5;
        }
        wrong += a[i] != value;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(few, want);
    free(a);
}

int main(void)
{
    int devices = omp_get_num_devices(), numbers[2] = {0, devices - 1};
    any = ompx_device_any_gpu();
    first = ompx_device_set(&numbers[0], 1);
    last = ompx_device_set(&numbers[1], 1);
    for (int time = 0; time < 2; time++) {
        one_chain(any, time && devices == 1 ? LINKS / 2 : 0);
        one_chain(last, time ? LINKS / 2 : 0);
#pragma omp parallel
#pragma omp single
        {
            from_tile_to_tile(any);
            from_tile_to_tile(last);
            tiles(0);
            tiles(1);
            readers();
            not_keeping();
        }
    }
    return check_result();
}
