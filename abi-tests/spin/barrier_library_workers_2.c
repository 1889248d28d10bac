// what: the same as barrier_library.c, with GANGWAY_WORKERS=2
// env: GANGWAY_WORKERS=2
// threads: 4,17
// compilers: gcc, clang>=19
// mode: preload,symlink
// timeout: 20
// flags: all -ldl
// ours: the variables are of this library alone
#include "spin_library_rounds.h"
