// what: two gangs of spin barriers on a pool of their size are found stalled and rescued when they are not scheduled as gangs
// threads: 2
// env: GANGWAY_WORKERS=2 OMP_GANG_SCHED=0
// ours: it counts what the stall monitor did
// mode: link
// alone: yes
#define EXPECT_STALLS 1
#include "gang_stalls.h"
