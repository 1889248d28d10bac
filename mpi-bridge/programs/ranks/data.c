/* Data of all sizes: kept on a rank, updated, in structures with pointers, fetched and freed again and again,
 * copied by routines. */
#include "device.h"

enum { LARGE = 1 << 20, MANY = 3000 };

struct vector {
    double before[500]; /* so large that its copy and that of the pointer go different ways */
    double *values;
    int count;
};

static void kept(int d, int n)
{
    double *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++)
        a[i] = i;
#pragma omp target enter data device(d) map(to : a[0 : n])
    for (int round = 0; round < 3; round++)
#pragma omp target device(d) map(to : a[0 : n])
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            a[i] += 1;
    CHECK_EQ(a[n - 1], APART(d, n - 1, n + 2));
    a[0] = 1000;
#pragma omp target update device(d) to(a[0 : 1])
#pragma omp target update device(d) from(a[0 : n])
    CHECK_EQ(a[0], 1000);
    CHECK_EQ(a[n - 1], n + 2);
#pragma omp target exit data device(d) map(delete : a[0 : n])
    free(a);
}

static void structures(int d)
{
    struct vector v = {.values = malloc(MANY * sizeof(double)), .count = MANY};
    for (int i = 0; i < MANY; i++)
        v.values[i] = i;
    for (int i = 0; i < 500; i++)
        v.before[i] = 1;
    for (int round = 0; round < 20; round++) {
        double sum = 0;
#pragma omp target device(d) map(to : v) map(tofrom : v.values[0 : MANY]) map(from : sum)
        {
            sum = 0;
            for (int i = 0; i < v.count; i++)
                sum += v.values[i] += 1;
            for (int i = 0; i < 500; i++)
                sum += v.before[i];
        }
        CHECK_EQ(sum, MANY * (MANY - 1.0) / 2 + MANY * (round + 1.0) + 500);
    }
    CHECK_EQ(v.values[MANY - 1], MANY - 1 + 20);
    free(v.values);
}

static void routines(int d)
{
    int host = omp_get_initial_device(), other = d == 0 ? omp_get_num_devices() - 1 : 0;
    size_t size = LARGE * sizeof(int);
    int *a = malloc(size), *b = calloc(LARGE, sizeof(int));
    for (int i = 0; i < LARGE; i++)
        a[i] = i * 7;
    void *here = omp_target_alloc(size, d), *there = omp_target_alloc(size, other),
         *again = omp_target_alloc(size, d);
    CHECK(here && there && again);
    CHECK_EQ(omp_target_memcpy(here, a, size, 0, 0, d, host), 0);
    CHECK_EQ(omp_target_memcpy(there, here, size, 0, 0, other, d), 0);
    CHECK_EQ(omp_target_memcpy(again, there, size - 64, 64, 0, d, other), 0);
    CHECK_EQ(omp_target_memcpy(again, here, 64, 0, 0, d, d), 0);
    CHECK_EQ(omp_target_memcpy(b, again, size, 0, 0, host, d), 0);
    CHECK_EQ(memcmp(b, a, 64), 0);
    CHECK_EQ(memcmp((char *)b + 64, a, size - 64), 0);
    omp_target_free(here, d);
    omp_target_free(there, other);
    omp_target_free(again, d);
    for (int i = 0; i < 50; i++) { /* 1.6 GB in all */
        void *block = omp_target_alloc(32 << 20, d);
        CHECK(block != NULL);
        CHECK_EQ(omp_target_memcpy(block, a, size, 0, 0, d, host), 0);
        omp_target_free(block, d);
    }
    CHECK(omp_target_alloc((size_t)1 << 60, d) == NULL || !is_apart(d));
    free(a);
    free(b);
}

int main(void)
{
    EACH_DEVICE(d)
    {
        int sizes[] = {2, 200, 257, 5000, LARGE};
        for (int i = 0; i < 5; i++)
            kept(d, sizes[i]);
        structures(d);
        routines(d);
    }
    return check_result();
}
