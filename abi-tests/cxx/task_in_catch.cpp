// what: tasks that suspend inside a catch, many on one thread, each find their own exception again
#include "check.h"
static long work(int depth, int id)
{
    if (depth == 0)
        return id;
    long a = 0, b = 0;
    try {
        throw id;
    } catch (int &value) {
#pragma omp task shared(a) firstprivate(depth, id)
        a = work(depth - 1, 2 * id);
#pragma omp task shared(b) firstprivate(depth, id)
        b = work(depth - 1, 2 * id + 1);
#pragma omp taskwait
        CHECK_EQ(value, id);
        try {
            throw;
        } catch (int again) {
            CHECK_EQ(again, id);
        }
    }
    return a + b;
}
int main()
{
    long sum = 0;
#pragma omp parallel
#pragma omp single
    sum = work(8, 1);
    long want = 0;
    for (int i = 256; i < 512; i++)
        want += i;
    CHECK_EQ(sum, want);
    return check_result();
}
