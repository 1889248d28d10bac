// what: the same as stacks.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2 OMP_STACKSIZE=300K
// threads: 6,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "identity_stacks.h"
