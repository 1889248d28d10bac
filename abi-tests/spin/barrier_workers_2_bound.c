// what: the same as barrier.c, with GANGWAY_WORKERS=2 OMP_PROC_BIND=close
// env: GANGWAY_WORKERS=2 OMP_PROC_BIND=close
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "spin_barrier_rounds.h"
