/* The body of gang/root_lock*.c. */
#include "check.h"
#include "spin.h"
#include <pthread.h>
static omp_lock_t lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int held, wanted, ended, owner, rounds = 5;
static int wants(int round)
{
    int n = omp_get_max_threads(), got = 0;
    SPIN_UNTIL(LOAD(held) == round);
#pragma omp parallel num_threads(n) reduction(+ : got)
    {
        if (omp_get_thread_num() == n - 1) { /* the others wait in their barrier meanwhile */
            STORE(wanted, round);
            omp_set_lock(&lock);
            CHECK_EQ(LOAD(owner), 0);
            omp_unset_lock(&lock);
            pthread_mutex_lock(&mutex);
            CHECK_EQ(LOAD(owner), 0);
            pthread_mutex_unlock(&mutex);
        }
#pragma omp barrier
        got++;
    }
    return got == n;
}
static void *other_root(void *unused)
{
    for (int round = 1; round <= rounds; round++) {
        CHECK(wants(round));
        STORE(ended, round);
    }
    return unused;
}
static void holds(int round)
{
    int n = omp_get_max_threads(), sum = 0;
    omp_set_lock(&lock);
    pthread_mutex_lock(&mutex);
    STORE(owner, 1);
    STORE(held, round);
    SPIN_UNTIL(LOAD(wanted) == round);
#pragma omp parallel num_threads(n) reduction(+ : sum)
    {
        sum++;
#pragma omp barrier
#pragma omp critical
        sum++;
    }
    CHECK_EQ(sum, 2 * n);
    STORE(owner, 0);
    omp_unset_lock(&lock);
    pthread_mutex_unlock(&mutex);
    SPIN_UNTIL(LOAD(ended) == round); /* locks are not fair: it would take both again */
}
int main(void)
{
    pthread_t other;
    omp_init_lock(&lock);
    pthread_create(&other, NULL, other_root, NULL);
    for (int round = 1; round <= rounds; round++)
        holds(round);
    pthread_join(other, NULL);
    omp_destroy_lock(&lock);
    return check_result();
}
