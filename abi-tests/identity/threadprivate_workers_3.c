// what: the same as threadprivate.c, with GANGWAY_WORKERS=3
// env: GANGWAY_WORKERS=3
// threads: 8,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "identity_threadprivate.h"
