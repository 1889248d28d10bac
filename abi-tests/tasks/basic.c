// what: tasks from every thread end by the barrier; if(0), nested undeferred, firstprivate of many sizes
#include "check.h"
struct big {
    char bytes[3000];
};
struct odd {
    char a;
    short b;
    char c;
};
int main(void)
{
    int n = omp_get_max_threads();
    long sum = 0, order = 0;
    struct big big;
    memset(&big, 7, sizeof big);
#pragma omp parallel
    {
        for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(i) shared(sum)
            {
#pragma omp atomic
                sum += i;
            }
        }
#pragma omp barrier
#pragma omp single
        CHECK_EQ(sum, 4950L * n);
#pragma omp single
        for (int i = 0; i < 20; i++) {
            struct odd odd = {(char)i, (short)(i * 2), (char)(i * 3)};
            big.bytes[2999] = (char)i;
#pragma omp task firstprivate(big, odd, i)
            {
                CHECK(big.bytes[0] == 7 && big.bytes[2999] == i);
                CHECK(odd.a == i && odd.b == i * 2 && odd.c == i * 3);
            }
        }
#pragma omp single
        {
            int id = omp_get_thread_num();
#pragma omp task if (0) shared(order)
            {
                CHECK_EQ(omp_get_thread_num(), id);
                order = order * 10 + 1;
#pragma omp task shared(order)
                {
#pragma omp task if (0) shared(order)
                    order = order * 10 + 2;
                    order = order * 10 + 3;
                }
#pragma omp taskwait
                order = order * 10 + 4;
            }
            order = order * 10 + 5;
        }
    }
    CHECK_EQ(order, 12345);
    return check_result();
}
