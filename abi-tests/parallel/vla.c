// what: a variable-length array captured by a region and by tasks in it
// skip: clang refuses variable-length arrays in firstprivate of a task
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    int vla[3 * n], *p = vla;
    for (int i = 0; i < 3 * n; i++)
        vla[i] = i;
#pragma omp parallel firstprivate(vla)
    {
        int id = omp_get_thread_num();
        for (int i = 0; i < 3 * n; i++)
            CHECK_EQ(vla[i], i);
        vla[id] = -1;
#pragma omp task firstprivate(vla, id)
        {
            CHECK_EQ(vla[id], -1);
            vla[id + n] = -2;
        }
#pragma omp taskwait
        CHECK_EQ(vla[id + n], id + n);
#pragma omp barrier
        p[id] += 1000;
    }
    for (int i = 0; i < 3 * n; i++)
        CHECK_EQ(vla[i], i < n ? i + 1000 : i);
    return check_result();
}
