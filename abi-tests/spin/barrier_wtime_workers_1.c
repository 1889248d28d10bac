// what: the same as barrier_wtime.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 90
// ours: the variables are of this library alone
#define ROUNDS 4
#define SPIN_STEP (void)omp_get_wtime()
#include "spin_barrier_rounds.h"
