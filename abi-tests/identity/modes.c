// what: @BODY@ where storage is @MODE@, threads sharing two workers where they may
// each: MODE ; TLS ; HIDES ; REFUSES ; BORROWED ; SAID = asked_for ; donor ; 0 ; 0 ; 1 ; borrowed*changed by an instruction
// each: MODE ; TLS ; HIDES ; REFUSES ; BORROWED ; SAID = by_system_call ; auto ; 1 ; 0 ; 1 ; borrowed*changed by a system call
// each: MODE ; TLS ; HIDES ; REFUSES ; BORROWED ; SAID = filtered_call ; auto ; 0 ; 1 ; 1 ; borrowed*changed by an instruction
// each: MODE ; TLS ; HIDES ; REFUSES ; BORROWED ; SAID = refused ; auto ; 1 ; 1 ; 0 ; a kernel thread for each thread: the kernel refuses to set the thread pointer
// each: MODE ; TLS ; HIDES ; REFUSES ; BORROWED ; SAID = of_kernel_threads ; kernel ; 0 ; 0 ; 0 ; a kernel thread for each thread: GANGWAY_TLS says so
// each: BODY = identity_errno / identity_mutex_owner / identity_stacks / identity_tasks / identity_threadprivate / levels
// env: GANGWAY_TLS=@TLS@ GANGWAY_WORKERS=2 OMP_DISPLAY_ENV=verbose
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// flags: all -rdynamic
// expect-stderr: thread-local storage: *@SAID@
// ours: the variables and what is counted are of this library alone
#define HIDES @HIDES@
#define REFUSES @REFUSES@
#include "storage.h"
#define main body
#include "@BODY@.h"
#undef main
int main(void)
{
    int failed = body();
    CHECK_EQ(storage_donors() > 0, @BORROWED@);
    return failed | check_result();
}
