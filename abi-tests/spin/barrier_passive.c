// what: the same as barrier.c, with OMP_WAIT_POLICY=passive
// env: OMP_WAIT_POLICY=passive
// threads: 4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: barrier.c asks the peers
#include "spin_barrier_rounds.h"
