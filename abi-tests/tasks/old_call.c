// what: GOMP_task as compilers before gcc 11 call it, without a tenth argument: what stands there is not looked at
// compilers: gcc
// peers: libomp fails, because it has other entry points
#include "check.h"
extern void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, _Bool, unsigned,
                      void **, int, void *);
static int done;
static void body(void *data)
{
#pragma omp atomic
    done += *(int *)data;
}
int main(void)
{
    int one = 1;
    void *depend[] = {(void *)1, (void *)1, &one};
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
        GOMP_task(body, &one, NULL, sizeof one, _Alignof(int), 1, 0, NULL, 0, (void *)8);
        GOMP_task(body, &one, NULL, sizeof one, _Alignof(int), 1, 8, depend, 0, (void *)8);
    }
    CHECK_EQ(done, 200);
    return check_result();
}
