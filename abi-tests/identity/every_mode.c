// what: @BODY@.c where storage is @MODE@: what a program asks of its thread, in each storage mode (docs/robustness.md)
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = by_system_call ; donor ; 1 ; 0 ; borrowed*changed by a system call
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = refused ; auto ; 1 ; 1 ; a kernel thread for each thread: the kernel refuses to set the thread pointer
// each: MODE ; TLS ; HIDES ; REFUSES ; SAID = of_kernel_threads ; kernel ; 0 ; 0 ; a kernel thread for each thread: GANGWAY_TLS says so
// each: BODY = identity/kernel_affinity / identity/kernel_for_good / identity/kernel_inherit / identity/kernel_keys / identity/kernel_names
// each: BODY = identity/kernel_others / identity/kernel_refused / identity/kernel_settings / identity/stacks
// each: BODY = process/change_of_user / process/float_mode / process/fork_locks / process/stack_within
// each: BODY = signals/all_numbers / signals/alternate_stacks / signals/between_regions / signals/contexts
// each: BODY = signals/descriptor / signals/ends / signals/jumps / signals/masks
// each: BODY = signals/timers / signals/to_itself / signals/to_others / signals/waits
// each: BODY = spin/coroutines / spin/foreign_stack / tasks/modes / tasks/modes_after_leaving
// env: GANGWAY_TLS=@TLS@ GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 2,6,17
// compilers: gcc
// mode: preload
// flags: all -rdynamic -frounding-math
// timeout: 120
// all: yes
// expect-stderr: thread-local storage: *@SAID@
// ours: the variables and what is counted are of this library alone
#define HIDES @HIDES@
#define REFUSES @REFUSES@
#include "storage.h"
#include "../@BODY@.c"
