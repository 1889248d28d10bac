// what: two gangs, launched from two tasks, spin in barriers of their own on a pool as large as one gang
// env: GANGWAY_WORKERS=2
// threads: 2
// timeout: 20
#include "gang_figure_1a.h"
