// what: inoutset tasks are not ordered among each other, but against in, out and mutexinoutset; depobj
// compilers: clang>=19
// flags: clang -fopenmp-version=51
#include "check.h"
#include <unistd.h>
int main(void)
{
    for (int round = 0; round < 30; round++) {
        int x = 0, first = 0, second = 0, seen = -1, mutex = 0;
        omp_event_handle_t event;
        omp_depend_t object;
#pragma omp depobj(object) depend(inoutset : x)
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : x) shared(x)
            x = 10;
            // The first of the set is complete only when the second has begun.
#pragma omp task depend(inoutset : x) shared(x, first) detach(event)
            {
                CHECK_EQ(x, 10);
#pragma omp atomic
                first++;
            }
#pragma omp task depend(depobj : object) shared(x, second) firstprivate(event)
            {
                CHECK_EQ(x, 10);
                usleep(300); // a task that would not wait for the set begins meanwhile
#pragma omp atomic
                second++;
                omp_fulfill_event(event);
            }
#pragma omp task depend(in : x) shared(first, second, seen)
            seen = first + second;
#pragma omp task depend(mutexinoutset : x) shared(mutex, seen)
            mutex += seen;
#pragma omp task depend(mutexinoutset : x) shared(mutex, seen)
            mutex += seen;
#pragma omp task depend(inoutset : x) shared(mutex)
            CHECK_EQ(mutex, 4);
        }
#pragma omp depobj(object) destroy
        CHECK_EQ(seen, 2);
        CHECK_EQ(mutex, 4);
    }
    return check_result();
}
