// what: the same as barrier.c, with OMP_PROC_BIND=close
// env: OMP_PROC_BIND=close
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: barrier.c asks the peers
#include "spin_barrier_rounds.h"
