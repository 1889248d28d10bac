// what: a barrier of the program, whose waiters spin without pause
// threads: 2,4,8
#include "spin_barrier_rounds.h"
