// what: threadprivate variables persist across regions whose threads sleep in the kernel for each other
// threads: 2,4,8
// timeout: 60
#include "identity_blocking.h"
