// what: taskgroup waits for descendants, taskwait only for children; both nest
#include "check.h"
int main(void)
{
    for (int round = 0; round < 20; round++) {
        int deep = 0, children = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            {
                for (int i = 0; i < 10; i++) {
#pragma omp task shared(deep)
                    {
#pragma omp task shared(deep)
                        {
#pragma omp task shared(deep)
                            {
                                for (volatile int spin = 0; spin < 2000; spin++) {
                                }
#pragma omp atomic
                                deep++;
                            }
                        }
                    }
                }
#pragma omp taskgroup
                {
#pragma omp task shared(children)
                    {
#pragma omp atomic
                        children += 100;
                    }
                }
                CHECK(children >= 100);
            }
            CHECK_EQ(deep, 10);
            for (int i = 0; i < 10; i++) {
#pragma omp task shared(children)
                {
#pragma omp atomic
                    children++;
                }
            }
#pragma omp taskwait
            CHECK_EQ(children, 110);
        }
    }
    return check_result();
}
