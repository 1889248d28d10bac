// what: threads wait in a library, inside its mutex, around sched_yield for a thread of the library's own
// threads: 2,4,8,17
// timeout: 30
// flags: all -ldl
#include "spin_in_library.h"
#define ROUNDS 50
int main(void)
{
    int n = omp_get_max_threads(), served = 0;
    void *library = load_library();
    if (library == NULL)
        return check_result();
    void (*be_served)(void) = (void (*)(void))dlsym(library, "be_served");
    CHECK_EQ(((int (*)(void))dlsym(library, "start"))(), 0);
#pragma omp parallel reduction(+ : served)
    for (int round = 0; round < ROUNDS; round++) {
        be_served();
        served++;
    }
    CHECK_EQ(served, n * ROUNDS);
    return check_result();
}
