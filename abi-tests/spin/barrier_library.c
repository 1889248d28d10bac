// what: a barrier whose waiters call sched_yield from a library that holds no OpenMP regions
// threads: 2,4,8,17
// timeout: 20
// flags: all -ldl
#include "spin_library_rounds.h"
