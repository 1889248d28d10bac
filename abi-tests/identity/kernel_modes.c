// what: @BODY@.c where storage is @MODE@, threads sharing two workers where they may
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = by_system_call ; donor ; 1 ; 0 ; borrowed*changed by a system call
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = refused ; auto ; 1 ; 1 ; a kernel thread for each thread: the kernel refuses to set the thread pointer
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = of_kernel_threads ; kernel ; 0 ; 0 ; a kernel thread for each thread: GANGWAY_TLS says so
// each: BODY = kernel_affinity / kernel_for_good / kernel_inherit / kernel_keys / kernel_names / kernel_others / kernel_settings
// env: GANGWAY_TLS=@TLS@ GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 6
// compilers: gcc
// mode: preload
// flags: all -rdynamic
// timeout: 60
// expect-stderr: thread-local storage: *@SAID@
// ours: the variables and what is counted are of this library alone
#define HIDES @HIDES@
#define REFUSES @REFUSES@
#include "storage.h"
#include "../identity/@BODY@.c"
