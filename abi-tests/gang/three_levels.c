// what: three levels of two, with barriers of the program at each level and over all leaves
// threads: 1,8
// timeout: 20
#include "gang_three_levels.h"
