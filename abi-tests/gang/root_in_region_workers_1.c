// what: the same as root_in_region.c, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_root_in_region.h"
