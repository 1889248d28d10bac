// what: a lock and a mutex held by one root across its region, wanted inside the region of another root
// threads: 2,4,8
// timeout: 20
#include "gang_root_lock.h"
