// what: the same as pthread_barrier.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "spin_pthread_barrier.h"
