// what: locks taken by asking again and again, and waits that only yield to tasks
// threads: 2,4,8
#include "spin_test_lock.h"
