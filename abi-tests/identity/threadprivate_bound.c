// what: the same as threadprivate.c, with OMP_PROC_BIND=close
// env: OMP_PROC_BIND=close
// threads: 8,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: threadprivate.c asks the peers
#include "identity_threadprivate.h"
