// what: two threads of the program run regions at once whose threads spin for each other
// threads: 2,4
// timeout: 20
#include "gang_two_roots.h"
