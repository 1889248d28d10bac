// what: sections, parallel sections, fewer and more sections than threads, lastprivate, nowait
#include "check.h"
int main(void)
{
    int done[10] = {0}, last = -1, sum = 0;
#pragma omp parallel
    {
        for (int i = 0; i < 20; i++) {
#pragma omp sections lastprivate(last) reduction(+ : sum) nowait
            {
                {
                    done[0]++;
                    last = 1;
                    sum += 1;
                }
#pragma omp section
                {
                    done[1]++;
                    last = 2;
                    sum += 2;
                }
#pragma omp section
                {
                    done[2]++;
                    last = 3;
                    sum += 3;
                }
#pragma omp section
                {
                    done[3]++;
                    last = 4;
                    sum += 4;
                }
#pragma omp section
                {
                    done[4]++;
                    last = 5;
                    sum += 5;
                }
            }
#pragma omp barrier
            CHECK_EQ(last, 5);
        }
    }
    for (int i = 0; i < 5; i++)
        CHECK_EQ(done[i], 20);
    CHECK_EQ(sum, 300);
#pragma omp parallel sections
    {
#pragma omp section
        done[7]++;
#pragma omp section
        done[8]++;
    }
#pragma omp parallel
#pragma omp sections
    {
        done[9]++;
    }
    CHECK_EQ(done[7], 1);
    CHECK_EQ(done[8], 1);
    CHECK_EQ(done[9], 1);
    return check_result();
}
