// what: task_reduction with in_reduction, reduction(task, ...) on parallel and for, taskloop reduction
// threads: 1,4,17
#include "../tasks/reductions.c"
