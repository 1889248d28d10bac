// what: one thread of a region forks; the child has that thread's storage and heap and ends; the parent's region goes on
// threads: 8
#include "identity.h"
#include <sys/wait.h>
#include <unistd.h>
static int number;
#pragma omp threadprivate(number)
static void child(pid_t parent)
{
    char *block = malloc(100000);
    if (block == NULL || getpid() == parent || getppid() != parent || number != 300 || errno != 303)
        _exit(1);
    memset(block, 1, 100000);
    free(block);
    _exit(23);
}
int main(void)
{
    int n = omp_get_max_threads(), sum = 0, status = 0;
    pid_t parent = getpid();
    for (int round = 0; round < 3; round++) {
#pragma omp parallel reduction(+ : sum)
        {
            int id = omp_get_thread_num();
            number = 100 * id;
#pragma omp barrier
            if (id == 3) {
                errno = 303;
                pid_t pid = fork();
                if (pid == 0)
                    child(parent);
                CHECK(waitpid(pid, &status, 0) == pid);
                CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23);
            }
#pragma omp barrier
            CHECK_EQ(number, 100 * id);
            sum += id;
        }
    }
    CHECK_EQ(sum, 3 * n * (n - 1) / 2);
    return check_result();
}
