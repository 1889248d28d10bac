/* The body of gang/two_roots*.c. */
#include "check.h"
#include "spin.h"
#include <pthread.h>
static struct spin_barrier both;
static void *root(void *argument)
{
    struct spin_barrier *barrier = (struct spin_barrier *)argument;
    int n = omp_get_max_threads();
    for (int region = 0; region < 2; region++) {
        int steps = 0;
#pragma omp parallel num_threads(n) shared(steps)
        {
            for (int round = 1; round <= 3; round++) {
                ADD(steps, 1);
                spin_wait(barrier, n);
                CHECK_EQ(LOAD(steps), n * round);
                spin_wait(barrier, n);
            }
            spin_wait(&both, 2 * n); /* neither region ends without the other */
        }
        CHECK_EQ(steps, 3 * n);
    }
    return NULL;
}
int main(void)
{
    pthread_t other;
    struct spin_barrier barriers[2] = {{0, 0}, {0, 0}};
    pthread_create(&other, NULL, root, &barriers[1]);
    root(&barriers[0]);
    pthread_join(other, NULL);
    return check_result();
}
