// what: teams, distribute and distribute parallel for on the host
// threads: 1,4,17
#include "../teams/host.c"
