// what: the atomics of Intel's compilers exclude gcc's own on the same locations, with KMP_ATOMIC_MODE=2 also those of 16 bytes
// compilers: gcc
// env: KMP_ATOMIC_MODE=2
// threads: 4
// mode: link
// ours: gcc's runtime has none of them
#include "kmpc_atomic_mixed.h"
