// what: std::this_thread::get_id, recursive mutexes, thread_local engines and the C library's generators belong to the OpenMP thread
// threads: 1,2,8,17
#include "identity_cxx_threads.h"
