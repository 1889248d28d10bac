// what: the same as levels.c, compiled as for a shared library
// threads: 4
// opt: -fPIC
#include "levels.h"
