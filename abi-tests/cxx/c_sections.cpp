// what: sections, parallel sections, fewer and more sections than threads, lastprivate, nowait
// threads: 1,4,17
#include "../sync/sections.c"
