/* Makes very many short tasks, then exits in a region within the region where they were made: cargo xtask
   trace. Prints how many tasks it has made. With an argument it forks a child there before, which exits at
   once. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 50000 };

int main(int argc, char **argv)
{
    (void)argv;
    printf("%d\n", TASKS);
    fflush(stdout);
#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < TASKS; i++) {
#pragma omp task
            __asm__ volatile("" ::: "memory");
        }
#pragma omp parallel num_threads(2)
#pragma omp master
        {
            if (argc > 1) {
                pid_t process = fork();
                if (process == 0)
                    exit(0);
                waitpid(process, NULL, 0);
            }
            exit(0);
        }
    }
}
