// what: the same as float_live.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
// opt: -O2
#include "spin_float_live.h"
