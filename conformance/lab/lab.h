/* What the programs of the laboratory share: words that threads wait on, and the answer. No check here can be
 * left out: a program prints what it has computed, the runner compares that between runtimes, and a wrong
 * value ends with status 1. */
#ifndef LAB_H
#define LAB_H
#include <omp.h>
#include <stdio.h>

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELEASE)
#define ADD(word, value) __atomic_add_fetch(&(word), (value), __ATOMIC_ACQ_REL)
#define SPIN_UNTIL(condition) \
    do { \
    } while (!(condition))

/* More than any team here has. */
enum { MOST = 64 };

/* A barrier whose waiters spin. Starts zeroed. */
struct meeting {
    int arrived, round;
};

static inline void meet(struct meeting *at, int size)
{
    int round = LOAD(at->round);
    if (ADD(at->arrived, 1) == size) {
        STORE(at->arrived, 0);
        STORE(at->round, round + 1);
    } else {
        SPIN_UNTIL(LOAD(at->round) != round);
    }
}

static inline int answer(long got, long expected)
{
    printf("%ld\n", got);
    if (got != expected)
        fprintf(stderr, "%ld where %ld is right\n", got, expected);
    return got != expected;
}
#endif
