// what: all threads of a region meet at a pthread barrier
// threads: 2,4,8
#include "spin_pthread_barrier.h"
