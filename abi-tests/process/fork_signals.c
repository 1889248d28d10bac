// what: a child that a team thread forks hears signals, as the program's own threads do
// threads: 2,4
// timeout: 20
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int status = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 1) {
            pid_t child = fork();
            if (child == 0) {
                alarm(1);
                for (int i = 0; i < 5; i++)
                    sleep(1);
                _exit(1);
            }
            waitpid(child, &status, 0);
        }
    }
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGALRM);
    return check_result();
}
