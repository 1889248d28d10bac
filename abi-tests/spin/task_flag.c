// what: tasks that spin until other tasks of the region have run
// threads: 2,4,8
#include "spin_task_flag.h"
