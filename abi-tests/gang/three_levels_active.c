// what: the same as three_levels.c, with OMP_WAIT_POLICY=active
// env: OMP_WAIT_POLICY=active
// threads: 2
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: three_levels.c asks the peers
#include "gang_three_levels.h"
