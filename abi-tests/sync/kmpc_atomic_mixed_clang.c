// what: the atomics of Intel's compilers exclude clang's own on the same locations, up to 16 bytes
// compilers: clang
// threads: 4
// mode: link,preload
#include "kmpc_atomic_mixed.h"
