// what: a thread that is done with its region runs a task that others spin for, though its worker runs a nested region's code
// threads: 3
// env: GANGWAY_WORKERS=4
// compilers: gcc, clang>=19
#include "task_resting.h"
