// what: the same as three_levels.c, with OMP_GANG_SCHED=1 GANGWAY_WORKERS=2
// env: OMP_GANG_SCHED=1 GANGWAY_WORKERS=2
// threads: 2
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_three_levels.h"
