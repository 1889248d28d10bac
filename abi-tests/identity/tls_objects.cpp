// what: C++ thread_local objects are made once per thread and are apart, also in nested regions with all threads alive
// threads: 1,4,8,17
#include "identity_tls_objects.h"
