// what: threads that wait in coroutines of 8 KiB for each other get on, though a signal's frame has no room there
// threads: 2,6,17
// timeout: 60
#include "check.h"

#include <sys/mman.h>
#include <ucontext.h>

/* The coroutine's own frame leaves less room than a signal's takes; below lies memory that cannot be written
 * to. */
enum { STACK = 8 << 10, USED = 5 << 10, BELOW = 4 << 10, ROUNDS = 3, MOST = 64 };

static int turn, threads;
static ucontext_t outside[MOST], inside[MOST];

/* In the coroutine: waits for its turn and passes it on. */
static void wait_for_turn(void)
{
    int me = omp_get_thread_num();
    volatile char used[USED];
    used[0] = 1;
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % threads != me)
        used[0]++;
    __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
    swapcontext(&inside[me], &outside[me]);
}

int main(void)
{
    threads = omp_get_max_threads(); /* called here, so that no function is looked up on a small stack */
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < ROUNDS; round++) {
            char *block =
                mmap(NULL, BELOW + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            mprotect(block, BELOW, PROT_NONE);
            getcontext(&inside[me]);
            inside[me].uc_stack.ss_sp = block + BELOW;
            inside[me].uc_stack.ss_size = STACK;
            inside[me].uc_link = NULL;
            makecontext(&inside[me], wait_for_turn, 0);
            swapcontext(&outside[me], &inside[me]);
            munmap(block, BELOW + STACK);
#pragma omp barrier
        }
    }
    CHECK_EQ(turn, ROUNDS * threads);
    return check_result();
}
