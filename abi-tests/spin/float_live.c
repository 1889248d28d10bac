// what: registers and rounding modes survive while threads spin for each other
// opt: -O2
// threads: 2,4,8
#include "spin_float_live.h"
