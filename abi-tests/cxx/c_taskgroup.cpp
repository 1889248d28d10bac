// what: taskgroup waits for descendants, taskwait only for children; both nest
// threads: 1,4,17
#include "../tasks/taskgroup.c"
