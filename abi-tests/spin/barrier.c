// what: a barrier of the program, whose waiters spin without pause
// threads: 2,4,8
#define ROUNDS 8 /* few: on kernel threads each barrier costs time slices */
#include "spin_barrier_rounds.h"
