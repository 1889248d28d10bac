// what: a token goes round a ring of condition variables
// threads: 4,8
#include "spin_condition_ring.h"
