// what: the same as pipe.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 2,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "spin_pipe.h"
