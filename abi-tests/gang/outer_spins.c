// what: threads of an outer region spin until the nested region of one of them has done its work
// threads: 2,4
// timeout: 20
#include "gang_outer_spins.h"
