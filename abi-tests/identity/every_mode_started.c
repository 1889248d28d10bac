// what: @BODY@.c where storage is @MODE@: as every_mode.c, for programs that start child programs, which do not run where the kernel refuses to set the thread pointer
// each: MODE ; TLS ; HIDES ; SAID = by_system_call ; donor ; 1 ; borrowed*changed by a system call
// each: MODE ; TLS ; HIDES ; SAID = of_kernel_threads ; kernel ; 0 ; a kernel thread for each thread: GANGWAY_TLS says so
// each: BODY = process/fork_inside / signals/children
// env: GANGWAY_TLS=@TLS@ GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 2,6,17
// compilers: gcc
// mode: preload
// flags: all -rdynamic
// timeout: 120
// all: yes
// expect-stderr: thread-local storage: *@SAID@
// ours: the variables and what is counted are of this library alone
#define HIDES @HIDES@
#define REFUSES 0
#include "storage.h"
#include "../@BODY@.c"
