// what: each of the 506 __kmpc_atomic_* entry points with KMP_ATOMIC_MODE=2: 16 bytes under the lock
// ours: gcc's runtime has none of them, clang's no _fp and no 128-bit complex ones
// threads: 4
// mode: link
// flags: all -fwrapv
// opt: -O0
// env: KMP_ATOMIC_MODE=2
// timeout: 60
#include "kmpc_atomic.c"
