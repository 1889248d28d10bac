// what: the same as compute.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
// opt: -O2
#include "spin_compute.h"
