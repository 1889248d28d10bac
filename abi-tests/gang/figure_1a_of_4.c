// what: figure_1a.c with gangs of four
// env: GANGWAY_WORKERS=4
// threads: 4
// timeout: 20
#include "gang_figure_1a.h"
