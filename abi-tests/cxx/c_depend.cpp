// what: depend in, out, inout, mutexinoutset: chains, fans, and undeferred tasks that must wait
// threads: 1,4,17
#include "../tasks/depend.c"
