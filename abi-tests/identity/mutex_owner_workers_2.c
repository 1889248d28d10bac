// what: the same as mutex_owner.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 4,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "identity_mutex_owner.h"
