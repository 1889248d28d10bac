// what: the same as figure_1a_of_4.c, with GANGWAY_WORKERS=4 OMP_GANG_SCHED=1
// env: GANGWAY_WORKERS=4 OMP_GANG_SCHED=1
// threads: 4
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
#include "gang_figure_1a.h"
