// what: the same as outer_spins.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 2,4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_outer_spins.h"
