// what: @BODY@.c where storage is @MODE@: as every_mode.c, for programs that measure
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = by_system_call ; donor ; 1 ; 0 ; borrowed*changed by a system call
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = refused ; auto ; 1 ; 1 ; a kernel thread for each thread: the kernel refuses to set the thread pointer
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = of_kernel_threads ; kernel ; 0 ; 0 ; a kernel thread for each thread: GANGWAY_TLS says so
// each: BODY = identity/kernel_times / signals/profiler / spin/calls
// env: GANGWAY_TLS=@TLS@ GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 2,6,17
// compilers: gcc
// mode: preload
// flags: all -rdynamic -frounding-math
// timeout: 120
// alone: yes
// all: yes
// expect-stderr: thread-local storage: *@SAID@
// ours: the variables and what is counted are of this library alone
#define HIDES @HIDES@
#define REFUSES @REFUSES@
#include "storage.h"
#include "../@BODY@.c"
