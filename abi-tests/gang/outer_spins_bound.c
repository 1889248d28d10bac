// what: the same as outer_spins.c, with OMP_PROC_BIND=close
// env: OMP_PROC_BIND=close
// threads: 2,4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: outer_spins.c asks the peers
#include "gang_outer_spins.h"
