// what: one region: every thread number once, team size, levels, the implied barrier
// threads: 1,4,17
#include "../parallel/basic.c"
