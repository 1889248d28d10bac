/* A token goes round through pipes: each thread sleeps in read() until the one before it has written. With
   more threads than workers somebody sleeps where others are queued, so a kernel thread of its own has to
   take them over. The second region knows that already.

   Prints the time of both regions. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 6, LAPS = 200 };

static int pipes[THREADS][2];

static long lap(void)
{
    long sum = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < LAPS; i++) {
            int token = 0;
            if (me == 0) {
                token = i;
                if (write(pipes[1][1], &token, sizeof token) != sizeof token)
                    token = -1;
                if (read(pipes[0][0], &token, sizeof token) != sizeof token)
                    token = -1;
            } else {
                if (read(pipes[me][0], &token, sizeof token) != sizeof token)
                    token = -1;
                if (write(pipes[(me + 1) % THREADS][1], &token, sizeof token) != sizeof token)
                    token = -1;
            }
            sum += token;
        }
    }
    return sum;
}

int main(void)
{
    int right = 1;
    omp_set_dynamic(0);
    for (int i = 0; i < THREADS; i++)
        if (pipe(pipes[i]))
            return 1;
    for (int region = 1; region <= 2; region++) {
        double start = omp_get_wtime();
        right &= lap() == (long)THREADS * LAPS * (LAPS - 1) / 2;
        printf("region %d: %.1f us per hop\n", region, (omp_get_wtime() - start) * 1e6 / (THREADS * LAPS));
    }
    puts(right ? "right" : "wrong");
    return !right;
}
