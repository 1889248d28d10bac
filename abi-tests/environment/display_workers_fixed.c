// what: the same as display_workers.c, with GANGWAY_WORKERS=3: the number is fixed
// env: OMP_DISPLAY_ENV=verbose GANGWAY_WORKERS=3
// threads: 2
// mode: preload
// compilers: gcc,clang>=19
// ours: the variable is Gangway's
// expect-stderr: GANGWAY_WORKERS='3'
#include "display_workers.c"
