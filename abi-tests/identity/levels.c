// what: threadprivate and __thread variables in teams of 1 to 17 threads, nested in three levels: apart, copied in, kept
// threads: 1,4,17
#include "levels.h"
