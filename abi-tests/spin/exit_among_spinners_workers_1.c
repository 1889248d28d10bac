// what: the same as exit_among_spinners.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
// expect-exit: 7
#include "spin_exit.h"
