// what: two gangs of spin barriers on a pool of their size pass without the stall monitor
// threads: 2
// env: GANGWAY_WORKERS=2 OMP_GANG_SCHED=1
// ours: it counts what the stall monitor did
// mode: link
// alone: yes
#define EXPECT_STALLS 0
#include "gang_stalls.h"
