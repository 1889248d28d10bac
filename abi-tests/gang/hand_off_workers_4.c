// what: the same as hand_off.c, with GANGWAY_WORKERS=4
// env: GANGWAY_WORKERS=4
// mode: preload
// timeout: 60
// threads: 4,8
// compilers: gcc, clang>=19
// ours: others wait for the kernel's time slice at each barrier
#define SLEEP_US 3000
#define BARRIERS 60 /* on two processors each takes time slices of the kernel's */
#include "gang_hand_off.h"
