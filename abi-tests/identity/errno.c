// what: errno keeps its value and its address across barriers, locks, taskwait, critical and taskyield
// threads: 1,4,8,17
#include "identity_errno.h"
