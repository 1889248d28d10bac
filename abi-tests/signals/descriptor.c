// what: the main thread reads from a descriptor of signals what it, its process and other threads of the team send it
// threads: 2,6,17
#include "signals.h"

#include <poll.h>
#include <sys/signalfd.h>

/* Reads one signal; its number, or 0 after some time. */
static int next_signal(int descriptor)
{
    struct signalfd_siginfo info;
    struct pollfd poll_for = {descriptor, POLLIN, 0};
    if (poll(&poll_for, 1, LONG_ENOUGH * 1000) != 1 || read(descriptor, &info, sizeof info) != sizeof info)
        return 0;
    return info.ssi_signo;
}

int main(void)
{
    sigset_t set;
    pthread_t main_thread = pthread_self();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
#pragma omp parallel
    ;
    int descriptor = signalfd(-1, &set, 0);
    CHECK(descriptor >= 0);
    raise(SIGUSR1);
    CHECK_EQ(next_signal(descriptor), SIGUSR1);
    kill(getpid(), SIGUSR2);
    CHECK_EQ(next_signal(descriptor), SIGUSR2);
#pragma omp parallel
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            pthread_kill(main_thread, SIGUSR1);
#pragma omp barrier
    }
    CHECK_EQ(next_signal(descriptor), SIGUSR1);
    return check_result();
}
