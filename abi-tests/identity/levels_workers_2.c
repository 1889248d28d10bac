// what: the same as levels.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 17
// compilers: gcc, clang>=19
// mode: preload
// ours: the variable is of this library alone
#include "levels.h"
