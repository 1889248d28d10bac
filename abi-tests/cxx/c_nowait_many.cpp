// what: more loops in flight than a runtime keeps descriptors: 40 dynamic loops without a barrier
// threads: 1,4,17
#include "../loops/nowait_many.c"
