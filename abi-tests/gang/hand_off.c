// what: contexts handed to another kernel thread come back when their worker moves again
// timeout: 60
// threads: 2,4,8
// compilers: gcc, clang>=19
// ours: others wait for the kernel's time slice at each barrier
#define SLEEP_US 0
#include "gang_hand_off.h"
