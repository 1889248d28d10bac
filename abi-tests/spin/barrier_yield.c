// what: a barrier of the program whose waiters call sched_yield
// threads: 2,4,8,17
#include <sched.h>
#define SPIN_STEP sched_yield()
#include "spin_barrier_rounds.h"
