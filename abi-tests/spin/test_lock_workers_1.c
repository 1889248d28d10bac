// what: the same as test_lock.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "spin_test_lock.h"
