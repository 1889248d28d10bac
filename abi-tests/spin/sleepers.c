// what: threads that sleep in the kernel are not woken early while others of their region spin
// threads: 2,4,8
#include "spin_sleepers.h"
