// what: a barrier of the program's own making whose waiters call std::this_thread::yield
// threads: 2,4,8,17
#include <thread>
#define SPIN_STEP std::this_thread::yield()
#include "spin_barrier_rounds.h"
