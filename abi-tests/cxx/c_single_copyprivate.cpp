// what: single runs once per encounter, copyprivate reaches every thread, nowait does not wait
// threads: 1,4,17
#include "../sync/single_copyprivate.c"
