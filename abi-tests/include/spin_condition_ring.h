/* The body of spin/condition_ring*.c: a token goes round, each thread with a condition of its own. */
#include "check.h"
#include <pthread.h>
enum { HOPS = 200 };
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int token; /* hop number + 1, or 0 */
} seats[64];
static void give(int seat, int token)
{
    pthread_mutex_lock(&seats[seat].mutex);
    seats[seat].token = token;
    pthread_cond_signal(&seats[seat].condition);
    pthread_mutex_unlock(&seats[seat].mutex);
}
static int take(int seat)
{
    pthread_mutex_lock(&seats[seat].mutex);
    while (seats[seat].token == 0)
        pthread_cond_wait(&seats[seat].condition, &seats[seat].mutex);
    int token = seats[seat].token;
    seats[seat].token = 0;
    pthread_mutex_unlock(&seats[seat].mutex);
    return token;
}
int main(void)
{
    int n = omp_get_max_threads(), hops = 0;
    for (int i = 0; i < n; i++) {
        pthread_mutex_init(&seats[i].mutex, NULL);
        pthread_cond_init(&seats[i].condition, NULL);
    }
    seats[0].token = 1;
#pragma omp parallel reduction(+ : hops)
    {
        int id = omp_get_thread_num();
        for (int hop = id; hop < HOPS; hop += n) {
            CHECK_EQ(take(id), hop + 1);
            give((id + 1) % n, hop + 2);
            hops++;
        }
    }
    CHECK_EQ(hops, HOPS);
    return check_result();
}
