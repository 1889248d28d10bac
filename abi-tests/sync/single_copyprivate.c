// what: single runs once per encounter, copyprivate reaches every thread, nowait does not wait
#include "check.h"
struct pair {
    int a;
    double b;
    int many[9];
};
int main(void)
{
    int n = omp_get_max_threads(), runs = 0, loose = 0;
#pragma omp parallel
    {
        for (int i = 0; i < 100; i++) {
            int value = -1;
            struct pair pair = {0};
            double array[5] = {0};
#pragma omp single copyprivate(value, pair, array)
            {
                runs++;
                value = 10 * i;
                pair.a = i;
                pair.b = i * 0.5;
                pair.many[8] = i + 1;
                array[4] = i;
            }
            CHECK_EQ(value, 10 * i);
            CHECK(pair.a == i && pair.b == i * 0.5 && pair.many[8] == i + 1 && array[4] == i);
        }
        for (int i = 0; i < 100; i++) {
#pragma omp single nowait
            {
#pragma omp atomic
                loose++;
            }
        }
    }
    CHECK_EQ(runs, 100);
    CHECK_EQ(loose, 100);
    CHECK(n >= 1);
    return check_result();
}
