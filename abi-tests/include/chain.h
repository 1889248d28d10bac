/* Chains of regions on a device. Their data are on `device`, by data constructs; their `device` clause says
 * `where`, which means no other one. */
#ifndef CHAIN_H
#define CHAIN_H
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "chained.h"
enum { N = 1000, LINKS = 120, CHAINS = 5, ROUNDS = 4 };

static long after(long value, int links)
{
    for (int i = 0; i < links; i++)
        value = value * 3 % 1000003 + i;
    return value;
}

/* One chain: everything is there throughout. */
static void one_chain(int device, int where)
{
    long *a = malloc(N * sizeof *a);
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp target enter data map(to : a[0 : N]) device(device)
    for (int link = 0; link < LINKS; link++) {
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0 : N]) device(where)
        for (int i = 0; i < N; i++)
            a[i] = a[i] * 3 % 1000003 + link;
    }
#pragma omp target exit data map(from : a[0 : N]) depend(inout : a[0]) device(device)
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += a[i] != after(i, LINKS);
    CHECK(wrong == 0);
    free(a);
}

/* Links that bring something of their own, or bring something back: they are waited for by the host. */
static void with_copies(int device, int where)
{
    long *a = malloc(N * sizeof *a), sum = 0, add = 5;
    for (int i = 0; i < N; i++)
        a[i] = 1;
#pragma omp target enter data map(to : a[0 : N]) device(device)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0 : N]) device(where)
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target nowait depend(inout : a[0]) depend(inout : sum) depend(in : add) map(to : a[0 : N]) \
    map(tofrom : sum) map(to : add) device(where)
        for (int i = 0; i < N; i++)
            sum += a[i] + add;
#pragma omp task depend(inout : sum) depend(out : add) shared(sum, add)
        {
            sum -= N;
            add += 1;
        }
    }
#pragma omp taskwait
    long expected = 0, value = 1, more = 5;
    for (int round = 0; round < ROUNDS; round++) {
        value += 1;
        expected += N * (value + more) - N;
        more += 1;
    }
    CHECK(sum == expected && add == more);
#pragma omp target exit data map(delete : a[0 : N]) device(device)
    free(a);
}

/* Several chains that meet; some links on the host, which an `if` clause keeps there. */
static void net(int device, int where)
{
    long *a[CHAINS], *all = calloc(CHAINS * N, sizeof *all), total = 0;
    for (int c = 0; c < CHAINS; c++)
        a[c] = all + c * N;
#pragma omp target enter data map(to : all[0 : CHAINS * N]) device(device)
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CHAINS; c++) {
            long *mine = a[c];
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N]) device(where)
            for (int i = 0; i < N; i++)
                mine[i] += c + 1;
        }
        for (int c = 1; c < CHAINS; c++) {
            long *mine = a[c], *other = a[c - 1];
#pragma omp target nowait depend(inout : mine[0]) depend(in : other[0]) map(tofrom : mine[0 : N]) \
    map(to : other[0 : N]) device(where)
            for (int i = 0; i < N; i++)
                mine[i] += other[i];
        }
        for (int c = 0; c < CHAINS; c++) {
            long *mine = a[c];
            int there = c != round; /* one of them on the host, between two updates */
#pragma omp target update from(mine[0 : N]) depend(inout : mine[0]) device(device) nowait if (!there)
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N]) device(where) if (there)
            for (int i = 0; i < N; i++)
                mine[i] = mine[i] * 3 % 1000003;
#pragma omp target update to(mine[0 : N]) depend(inout : mine[0]) device(device) nowait if (!there)
        }
    }
#pragma omp taskwait
#pragma omp target exit data map(from : all[0 : CHAINS * N]) device(device)
    long expected[CHAINS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CHAINS; c++)
            expected[c] += c + 1;
        for (int c = 1; c < CHAINS; c++)
            expected[c] += expected[c - 1];
        for (int c = 0; c < CHAINS; c++)
            expected[c] = expected[c] * 3 % 1000003;
    }
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < N; i++)
            total += a[c][i] != expected[c];
    CHECK(total == 0);
    free(all);
}

/* Links with nothing in common but what their structures point to: the device cannot see that, only the
 * dependences say it. */
struct holder {
    long *values;
};

static void through_pointers(int device, int where)
{
    struct holder even = {malloc(N * sizeof(long))}, odd = even;
    for (int i = 0; i < N; i++)
        even.values[i] = i;
#pragma omp target enter data map(to : even, odd) device(device)
#pragma omp target enter data map(to : even.values[0 : N]) device(device)
#pragma omp target enter data map(to : odd.values[0 : N]) device(device)
    for (int link = 0; link < LINKS; link += 2) {
#pragma omp target nowait depend(inout : even.values[0]) map(to : even) device(where)
        for (int i = 0; i < N; i++)
            even.values[i] = even.values[i] * 3 % 1000003 + link;
#pragma omp target nowait depend(inout : even.values[0]) map(to : odd) device(where)
        for (int i = 0; i < N; i++)
            odd.values[i] = odd.values[i] * 3 % 1000003 + link + 1;
    }
#pragma omp target update from(even.values[0 : N]) depend(inout : even.values[0]) device(device)
#pragma omp target exit data map(delete : even.values[0 : N]) device(device)
#pragma omp target exit data map(delete : even, odd) device(device)
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += even.values[i] != after(i, LINKS);
    CHECK(wrong == 0);
    free(even.values);
}

/* Links that bring something back, behind slow ones with which they have nothing in common that the device
 * can see: the host has to wait for those. */
static void copies_behind_pointers(int device, int where)
{
    struct holder even = {calloc(N, sizeof(long))}, odd = even;
    long seen[ROUNDS * 3] = {0};
#pragma omp target enter data map(to : even, odd) device(device)
#pragma omp target enter data map(to : even.values[0 : N]) device(device)
#pragma omp target enter data map(to : odd.values[0 : N]) device(device)
    for (int round = 0; round < ROUNDS * 3; round++) {
#pragma omp target nowait depend(inout : even.values[0]) map(to : even) device(where)
        {
            for (volatile int spin = 0; spin < 2000000; spin++) {
            }
            for (int i = 0; i < N; i++)
                even.values[i] += 1;
        }
#pragma omp target nowait depend(inout : even.values[0]) map(to : odd) map(from : seen[round : 1]) \
    device(where)
        seen[round] = odd.values[N - 1];
        if (round == 0) {
            /* Code that is known to launch a region first is queued. */
#pragma omp taskwait
        }
    }
#pragma omp taskwait
#pragma omp target exit data map(delete : even.values[0 : N]) device(device)
#pragma omp target exit data map(delete : even, odd) device(device)
    int wrong = 0;
    for (int round = 0; round < ROUNDS * 3; round++)
        wrong += seen[round] != round + 1;
    CHECK(wrong == 0);
    free(even.values);
}

static void chains(int device, int where)
{
#pragma omp parallel
#pragma omp single
    {
        one_chain(device, where);
        with_copies(device, where);
        net(device, where);
        through_pointers(device, where);
        copies_behind_pointers(device, where);
    }
    one_chain(device, where);
    net(device, where);
}
#endif
