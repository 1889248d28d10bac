// what: regions that capture 0, 1, 5, 10, 20 variables, arrays and structs, shared and firstprivate
#include "check.h"
static int global;
struct big {
    int a[40];
    double d;
    char c;
};
int main(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel
    {
#pragma omp atomic
        global++;
    }
    CHECK_EQ(global, n);
    {
        int v0 = 1;
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += (long)v0;
        CHECK_EQ(sum, 1 * n);
        sum = 0;
#pragma omp parallel firstprivate(v0) reduction(+ : sum)
        {
            v0 += omp_get_thread_num();
            sum += (long)v0;
        }
        CHECK_EQ(sum, 1 * n + n * (n - 1) / 2);
        CHECK_EQ(v0, 1);
    }
    {
        int v0 = 1;
        long v1 = 2;
        double v2 = 3;
        short v3 = 4;
        char v4 = 5;
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4;
        CHECK_EQ(sum, 15 * n);
        sum = 0;
#pragma omp parallel firstprivate(v0, v1, v2, v3, v4) reduction(+ : sum)
        {
            v4 += omp_get_thread_num();
            sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4;
        }
        CHECK_EQ(sum, 15 * n + n * (n - 1) / 2);
        CHECK_EQ(v4, 5);
    }
    {
        int v0 = 1;
        long v1 = 2;
        double v2 = 3;
        short v3 = 4;
        char v4 = 5;
        float v5 = 6;
        long long v6 = 7;
        unsigned v7 = 8;
        int v8 = 9;
        long v9 = 10;
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
               (long)v8 + (long)v9;
        CHECK_EQ(sum, 55 * n);
        sum = 0;
#pragma omp parallel firstprivate(v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) reduction(+ : sum)
        {
            v9 += omp_get_thread_num();
            sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
                   (long)v8 + (long)v9;
        }
        CHECK_EQ(sum, 55 * n + n * (n - 1) / 2);
        CHECK_EQ(v9, 10);
    }
    {
        int v0 = 1;
        long v1 = 2;
        double v2 = 3;
        short v3 = 4;
        char v4 = 5;
        float v5 = 6;
        long long v6 = 7;
        unsigned v7 = 8;
        int v8 = 9;
        long v9 = 10;
        double v10 = 11;
        short v11 = 12;
        char v12 = 13;
        float v13 = 14;
        long long v14 = 15;
        unsigned v15 = 16;
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
               (long)v8 + (long)v9 + (long)v10 + (long)v11 + (long)v12 + (long)v13 + (long)v14 + (long)v15;
        CHECK_EQ(sum, 136 * n);
        sum = 0;
#pragma omp parallel firstprivate(v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15) \
    reduction(+ : sum)
        {
            v15 += omp_get_thread_num();
            sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
                   (long)v8 + (long)v9 + (long)v10 + (long)v11 + (long)v12 + (long)v13 + (long)v14 +
                   (long)v15;
        }
        CHECK_EQ(sum, 136 * n + n * (n - 1) / 2);
        CHECK_EQ(v15, 16);
    }
    {
        int v0 = 1;
        long v1 = 2;
        double v2 = 3;
        short v3 = 4;
        char v4 = 5;
        float v5 = 6;
        long long v6 = 7;
        unsigned v7 = 8;
        int v8 = 9;
        long v9 = 10;
        double v10 = 11;
        short v11 = 12;
        char v12 = 13;
        float v13 = 14;
        long long v14 = 15;
        unsigned v15 = 16;
        int v16 = 17;
        long v17 = 18;
        double v18 = 19;
        short v19 = 20;
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
               (long)v8 + (long)v9 + (long)v10 + (long)v11 + (long)v12 + (long)v13 + (long)v14 + (long)v15 +
               (long)v16 + (long)v17 + (long)v18 + (long)v19;
        CHECK_EQ(sum, 210 * n);
        sum = 0;
#pragma omp parallel firstprivate(v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, \
                                      v17, v18, v19) reduction(+ : sum)
        {
            v19 += omp_get_thread_num();
            sum += (long)v0 + (long)v1 + (long)v2 + (long)v3 + (long)v4 + (long)v5 + (long)v6 + (long)v7 +
                   (long)v8 + (long)v9 + (long)v10 + (long)v11 + (long)v12 + (long)v13 + (long)v14 +
                   (long)v15 + (long)v16 + (long)v17 + (long)v18 + (long)v19;
        }
        CHECK_EQ(sum, 210 * n + n * (n - 1) / 2);
        CHECK_EQ(v19, 20);
    }
    struct big b = {{1, 2, 3}, 4.5, 'x'};
    double array[7] = {1, 2, 3, 4, 5, 6, 7};
    int shared_array[64] = {0};
#pragma omp parallel firstprivate(b, array) shared(shared_array)
    {
        int id = omp_get_thread_num();
        CHECK_EQ(b.a[2], 3);
        CHECK(b.d == 4.5 && b.c == 'x');
        b.a[2] = id;
        array[id % 7] += id + 1;
        shared_array[id] = (int)array[id % 7] + b.a[2];
    }
    for (int i = 0; i < n; i++)
        CHECK_EQ(shared_array[i], i % 7 + 1 + i + 1 + i);
    CHECK_EQ(b.a[2], 3);
    CHECK(array[0] == 1);
    return check_result();
}
