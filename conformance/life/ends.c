/* Ends of processes and threads, and regions at their beginnings and ends. A case that ends the process says
 * what it says before that. */
#include "life.h"
static const char *wanted = "";
static void says(const char *what)
{
    puts(what);
    fflush(stdout);
}
__attribute__((constructor)) static void begins(int argc, char **argv)
{
    wanted = argc > 1 ? argv[1] : "";
    if (!strcmp(wanted, "constructor"))
        says(region() && tasks() ? "begins" : "wrong");
}
__attribute__((destructor)) static void finishes(void)
{
    if (!strcmp(wanted, "destructor"))
        says(region() && tasks() ? "ends" : "wrong");
}
static void at_exit(void)
{
    says(region() && tasks() ? "at exit" : "wrong");
}
static int plain(void)
{
    return region() && nested();
}
static int atexit_region(void)
{
    return !atexit(at_exit) && region();
}
static int exit_by(int who, int others_wait)
{
    atexit(at_exit);
#pragma omp parallel num_threads(TEAM)
    {
        if (omp_get_thread_num() == who) {
            usleep(20000);
            exit(7);
        }
        if (others_wait) {
#pragma omp barrier
        } else {
            usleep(5000);
        }
    }
    return 0;
}
static int exit_master(void)
{
    return exit_by(0, 0);
}
static int exit_other(void)
{
    return exit_by(1, 0);
}
static int exit_barrier_master(void)
{
    return exit_by(0, 1);
}
static int exit_barrier_other(void)
{
    return exit_by(2, 1);
}
static int exit_task(void)
{
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    {
#pragma omp task
        exit(7);
#pragma omp taskwait
    }
    return 0;
}
static void quick(void)
{
    says("quick");
}
static int quick_exit_inside(void)
{
    at_quick_exit(quick);
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        quick_exit(7);
    return 0;
}
static int hard_exit_inside(void)
{
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        _exit(7);
    return 0;
}
static int abort_inside(void)
{
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        abort();
    return 0;
}
/* Regions in a key's destructor. */
static pthread_key_t key;
static int at_end;
static void key_ends(void *unused)
{
    (void)unused;
    at_end = region() && tasks();
}
static void *with_key(void *out)
{
    *(int *)out = region() && !pthread_setspecific(key, out);
    return 0;
}
static int key_destructor(void)
{
    int right = 0;
    pthread_t thread;
    pthread_key_create(&key, key_ends);
    return !pthread_create(&thread, 0, with_key, &right) && !pthread_join(thread, 0) && right && at_end &&
           region();
}
/* The initial thread ends by pthread_exit; another goes on and ends the process. */
static pthread_t initial;
static void *goes_on(void *unused)
{
    (void)unused;
    pthread_join(initial, 0);
    says(region() && tasks() && nested() ? "goes on" : "wrong");
    exit(0);
}
static int initial_leaves(void)
{
    pthread_t thread;
    initial = pthread_self();
    if (!region() || pthread_create(&thread, 0, goes_on, 0))
        return 0;
    pthread_exit(0);
}
static void *leaves(void *unused)
{
    (void)unused;
    pthread_exit(region() ? (void *)7 : 0);
}
static int foreign_leaves(void)
{
    int right = 1;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *value = 0;
        right &=
            !pthread_create(&thread, 0, leaves, 0) && !pthread_join(thread, &value) && value == (void *)7;
    }
    return right && region();
}
static int came;
static void *cancelled(void *unused)
{
    (void)unused;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
    int right = region();
    __atomic_store_n(&came, right, __ATOMIC_RELEASE);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    for (;;)
        pause();
    return 0;
}
static int foreign_cancelled(void)
{
    int right = 1;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *value = 0;
        __atomic_store_n(&came, 0, __ATOMIC_RELEASE);
        right &= !pthread_create(&thread, 0, cancelled, 0);
        while (!__atomic_load_n(&came, __ATOMIC_ACQUIRE))
            usleep(100);
        right &= !pthread_cancel(thread) && !pthread_join(thread, &value) && value == PTHREAD_CANCELED;
    }
    return right && region();
}
/* Cancelled while it is in regions, which have no cancellation points: it takes effect after one of them. */
static void *in_regions(void *unused)
{
    for (;;) {
        int right = region() && tasks();
        __atomic_store_n(&came, right, __ATOMIC_RELEASE);
        pthread_testcancel();
    }
    return unused;
}
static int foreign_cancelled_inside(void)
{
    int right = 1;
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        void *value = 0;
        __atomic_store_n(&came, 0, __ATOMIC_RELEASE);
        right &= !pthread_create(&thread, 0, in_regions, 0);
        while (!__atomic_load_n(&came, __ATOMIC_ACQUIRE))
            usleep(100);
        usleep(37 * i);
        right &= !pthread_cancel(thread) && !pthread_join(thread, &value) && value == PTHREAD_CANCELED;
    }
    return right && region();
}
static void *endless(void *unused)
{
    for (;;)
        if (!region())
            says("wrong");
    return unused;
}
static int detached_at_exit(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, endless, 0) || pthread_detach(thread))
            return 0;
    }
    usleep(50000);
    return region();
}
/* Undefined in OpenMP; only shown. */
static int leaves_inside(void)
{
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        pthread_exit(0);
    return region();
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"constructor", plain},
                                        {"destructor", plain},
                                        {"atexit_region", atexit_region},
                                        {"exit_master", exit_master},
                                        {"exit_other", exit_other},
                                        {"exit_barrier_master", exit_barrier_master},
                                        {"exit_barrier_other", exit_barrier_other},
                                        {"exit_task", exit_task},
                                        {"quick_exit_inside", quick_exit_inside},
                                        {"hard_exit_inside", hard_exit_inside},
                                        {"abort_inside", abort_inside},
                                        {"key_destructor", key_destructor},
                                        {"initial_leaves", initial_leaves},
                                        {"foreign_leaves", foreign_leaves},
                                        {"foreign_cancelled", foreign_cancelled},
                                        {"foreign_cancelled_inside", foreign_cancelled_inside},
                                        {"detached_at_exit", detached_at_exit},
                                        {"leaves_inside", leaves_inside},
                                        {0, 0}};
    return life(argc, argv, cases);
}
