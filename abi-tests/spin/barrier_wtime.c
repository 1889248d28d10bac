// what: a barrier of the program whose waiters call omp_get_wtime between looks
// timeout: 90
// threads: 2,8
#define ROUNDS 4
#define SPIN_STEP (void)omp_get_wtime()
#include "spin_barrier_rounds.h"
