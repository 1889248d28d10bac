// what: handlers of the program for SIGALRM and SIGPROF run while the threads of a region spin
// threads: 1,2,4,8
#include "spin_timers.h"
