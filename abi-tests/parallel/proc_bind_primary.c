// what: proc_bind(primary) puts all threads on the primary thread's place, whatever number the compiler has for it
// compilers: gcc>=12, clang>=19
// env: OMP_PLACES=threads OMP_PROC_BIND=spread
// threads: 2
// peers: libomp fails, because clang's number for it is one that it does not know
#include "check.h"
int main(void)
{
    int places[2][64], size = 0;
#pragma omp parallel
    {
        places[0][omp_get_thread_num()] = omp_get_place_num();
#pragma omp single
        size = omp_get_num_threads();
    }
#pragma omp parallel proc_bind(primary)
    places[1][omp_get_thread_num()] = omp_get_place_num();
    for (int i = 1; i < size; ++i) {
        CHECK_EQ(places[1][i], places[1][0]);
        if (i == 1 && omp_get_num_places() > 1)
            CHECK(places[0][1] != places[0][0]);
    }
    return check_result();
}
