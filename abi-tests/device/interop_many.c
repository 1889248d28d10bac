// what: tasks that wait for streams which are held up leave their threads to others
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 1,3
// only-gpu: what holds a stream up is a call of the driver's
// threads: 2,4
// mode: preload
// ours: interop objects
#include "cuda.h"
enum { MANY = 12 };
int main(void)
{
    int gate = 0, waiting = 0, ended = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < MANY; i++)
#pragma omp task untied shared(gate, waiting, ended)
        {
            omp_interop_t object = omp_interop_none;
#pragma omp interop init(targetsync : object) device(i % omp_get_num_devices())
            foreign_call(object, hold, &gate);
#pragma omp atomic
            waiting++;
#pragma omp interop use(object)
            CHECK_EQ(__atomic_load_n(&gate, __ATOMIC_ACQUIRE), 1);
#pragma omp interop destroy(object)
#pragma omp atomic
            ended++;
        }
        /* Two threads, and all have begun: nobody has kept one. */
#pragma omp task shared(gate, waiting, ended)
        {
            int begun = 0;
            while (begun < MANY) {
#pragma omp taskyield
#pragma omp atomic read
                begun = waiting;
            }
            CHECK_EQ(ended, 0);
            __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        }
    }
    CHECK_EQ(ended, MANY);
    return check_result();
}
