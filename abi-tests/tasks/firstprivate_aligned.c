// what: variables with an alignment of their own keep it as firstprivate copies of tasks
#include "check.h"
#define WIDE 64
typedef struct {
    _Alignas(WIDE) int values[3];
} wide;
int main(void)
{
    int sum = 0;
    wide w = {{1, 2, 3}};
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
        char padding[5] = {(char)i};
#pragma omp task firstprivate(w, padding, i) shared(sum)
        {
            CHECK_EQ((size_t)&w % WIDE, 0);
            CHECK_EQ(padding[0], (char)i);
#pragma omp atomic
            sum += w.values[i % 3];
        }
#pragma omp task if (0) firstprivate(w) shared(sum)
        {
            CHECK_EQ((size_t)&w % WIDE, 0);
#pragma omp atomic
            sum += w.values[2];
        }
    }
    CHECK_EQ(sum, 199 + 300);
    return check_result();
}
