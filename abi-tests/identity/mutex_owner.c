// what: recursive and error-checking mutexes see the OpenMP threads of a team as different owners
// threads: 2,4,8,17
#include "identity_mutex_owner.h"
