// what: threads of a region create, and join, threads of the program that run regions of their own
// threads: 2,4
#include "gang_root_in_region.h"
