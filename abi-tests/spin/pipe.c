// what: a thread blocks in read until another thread of its team, past a phase of the rest, writes
// threads: 2,4,8
#include "spin_pipe.h"
