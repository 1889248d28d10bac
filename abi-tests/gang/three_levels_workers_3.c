// what: the same as three_levels.c, with GANGWAY_WORKERS=3
// env: GANGWAY_WORKERS=3
// threads: 2
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_three_levels.h"
