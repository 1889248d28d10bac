/* Processes made by fork after the parent has used OpenMP: each child runs regions of its own. libgomp's
 * children hang here. */
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static int threads_of_a_region(void)
{
    int count = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        count++;
    }
    return count;
}

int main(void)
{
    int right = 0, asked = threads_of_a_region();
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            alarm(10);
            _exit(threads_of_a_region() == asked ? 0 : 1);
        }
    for (int i = 0, status; i < CHILDREN; i++)
        if (wait(&status) > 0 && status == 0)
            right++;
    printf("%d of %d children ran a region of %d threads\n", right, CHILDREN, asked);
    return right != CHILDREN;
}
