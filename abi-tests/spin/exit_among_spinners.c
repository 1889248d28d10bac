// what: exit, called by a thread of a region while the others spin for good, ends the program with its status
// threads: 2,4,8
// expect-exit: 7
#include "spin_exit.h"
