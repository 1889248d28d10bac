// what: the same as levels.c, compiled as for a shared library
// threads: 4
// opt: -O2
// flags: all -fPIC
#include "levels.h"
