// what: pthread_getattr_np tells each thread, its tasks and the other threads the bounds of the stack that it runs on
// env: OMP_STACKSIZE=300K
// threads: 2,6,17
#include "identity_stacks.h"
