// what: long vector loops without a switch point give the serial results in every thread
// opt: -O2
// threads: 2,8
#include "spin_compute.h"
