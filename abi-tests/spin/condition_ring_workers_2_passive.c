// what: the same as condition_ring.c, with GANGWAY_WORKERS=2 OMP_WAIT_POLICY=passive
// env: GANGWAY_WORKERS=2 OMP_WAIT_POLICY=passive
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "spin_condition_ring.h"
