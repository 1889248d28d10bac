// what: threadprivate variables are apart while all threads are alive, and persist into the next region of that size
// threads: 1,8,17
#include "identity_threadprivate.h"
