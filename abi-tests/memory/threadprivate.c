// what: threadprivate persists between regions of one size, copyin, and threads see their own
#include "check.h"
static int counter;
static struct {
    double d;
    int a[10];
} record = {1.5, {1, 2, 3}};
#pragma omp threadprivate(counter, record)
static int *address[64];
int main(void)
{
    int n = omp_get_max_threads();
    omp_set_dynamic(0);
    counter = 100;
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        address[id] = &counter;
        CHECK_EQ(record.a[2], 3);
        if (id != 0)
            CHECK_EQ(counter, 0);
        counter = id * 10;
    }
    CHECK_EQ(counter, 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            CHECK(address[i] != address[k]);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel
        {
            int id = omp_get_thread_num();
            CHECK(address[id] == &counter);
            CHECK_EQ(counter, id * 10 + round);
            counter++;
        }
    }
    counter = 77;
    record.d = 2.5;
#pragma omp parallel copyin(counter, record)
    {
        CHECK_EQ(counter, 77);
        CHECK(record.d == 2.5);
    }
    return check_result();
}
