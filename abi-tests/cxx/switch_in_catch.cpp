// what: a thread that waits (barrier, taskwait, critical, nested region) inside a catch rethrows its own exception
#include "check.h"
#include <exception>
struct mine {
    int id;
};
static int nested(int id)
{
    int result = -1;
    try {
        try {
            throw mine{id};
        } catch (mine &) {
#pragma omp barrier
#pragma omp task
            {
                try {
                    throw 3.5;
                } catch (double) {
                }
            }
#pragma omp taskwait
#pragma omp critical
            {
#pragma omp taskyield
            }
#pragma omp parallel num_threads(2)
            {
                try {
                    throw mine{1000};
                } catch (mine &inner) {
                    CHECK_EQ(inner.id, 1000);
                }
            }
#pragma omp barrier
            CHECK(std::current_exception() != nullptr);
            throw;
        }
    } catch (mine &again) {
        result = again.id;
    }
    CHECK_EQ(std::uncaught_exceptions(), 0);
    return result;
}
int main()
{
    omp_set_max_active_levels(2);
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
            int id = omp_get_thread_num();
            CHECK_EQ(nested(id + 100 * round), id + 100 * round);
        }
    }
    return check_result();
}
