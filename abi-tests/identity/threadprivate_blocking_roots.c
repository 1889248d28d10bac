// what: the same as threadprivate_blocking.c while another kernel thread of the program forks regions, too
// threads: 2,3,4
// timeout: 60
#define ROUNDS 15
#define OTHER_ROOT
#include "identity_blocking.h"
