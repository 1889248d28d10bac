// what: a barrier of the program whose waiters sleep between looks
// timeout: 90
// threads: 2,8
#include <unistd.h>
#define ROUNDS 8
#define SPIN_STEP usleep(50)
#include "spin_barrier_rounds.h"
