// what: main_thread.c where storage is borrowed, changed by a system call. With kernel threads the kernel chooses who gets a signal of the process: under libgomp main_thread.c fails in 4 of 40 runs
// env: GANGWAY_TLS=donor GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 2,6,17
// compilers: gcc
// mode: preload
// flags: all -rdynamic
// timeout: 120
// all: yes
// expect-stderr: thread-local storage: *borrowed*changed by a system call
// ours: the variables and what is counted are of this library alone
#define HIDES 1
#define REFUSES 0
#include "storage.h"
#include "main_thread.c"
