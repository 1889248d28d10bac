/* Waiting that no runtime sees: spinning on shared words. SPIN_STEP, if defined before the include,
 * is what each turn of the loop does besides looking. */
#ifndef SPIN_H
#define SPIN_H
#ifndef SPIN_STEP
#define SPIN_STEP ((void)0)
#endif

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELEASE)
#define ADD(word, value) __atomic_add_fetch(&(word), (value), __ATOMIC_ACQ_REL)

#define SPIN_UNTIL(condition) \
    while (!(condition)) \
    SPIN_STEP

/* Starts zeroed. */
struct spin_barrier {
    int arrived, round;
};

/* Inlined, so that what the caller has in registers stays there while it spins. */
static inline __attribute__((always_inline)) void spin_wait(struct spin_barrier *barrier, int size)
{
    int round = LOAD(barrier->round);
    if (ADD(barrier->arrived, 1) == size) {
        STORE(barrier->arrived, 0);
        STORE(barrier->round, round + 1);
    } else {
        SPIN_UNTIL(LOAD(barrier->round) != round);
    }
}
#endif
