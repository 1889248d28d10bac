// what: the same as figure_1a.c, with GANGWAY_WORKERS=2 OMP_GANG_SCHED=0
// env: GANGWAY_WORKERS=2 OMP_GANG_SCHED=0
// threads: 2,4,8
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_figure_1a.h"
