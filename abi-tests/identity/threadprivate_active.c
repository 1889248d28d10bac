// what: the same as threadprivate.c, with OMP_WAIT_POLICY=active
// env: OMP_WAIT_POLICY=active
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: threadprivate.c asks the peers
#include "identity_threadprivate.h"
