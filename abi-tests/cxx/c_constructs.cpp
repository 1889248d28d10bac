// what: cancel of parallel, for, sections and taskgroup, and cancellation points
// env: OMP_CANCELLATION=true
// threads: 1,4,17
#include "../cancel/constructs.c"
