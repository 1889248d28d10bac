// what: kernel threads that lend storage are made when a team really shares workers, are used again, come back when their root ends, and are the child's own after a fork
// env: GANGWAY_WORKERS=3
// threads: 1
// mode: link
// timeout: 60
// ours: what is counted is of this library alone
#include "identity.h"
#include "ompx.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t both;
static long donors(void)
{
    ompx_counters_t counters;
    ompx_get_counters(&counters, sizeof counters);
    return (long)counters.donors;
}
static __attribute__((noinline)) void *region(void *argument)
{
    long threads = (long)argument;
#pragma omp parallel num_threads(threads)
    {
        errno = omp_get_thread_num();
#pragma omp barrier
        CHECK_EQ(*errno_now(), omp_get_thread_num());
        CHECK_EQ(omp_get_num_threads(), threads);
    }
    return NULL;
}
static void *with_the_other(void *argument)
{
    region(argument);
    pthread_barrier_wait(&both); /* both roots keep theirs */
    region(argument);
    return NULL;
}
static void in_turn(int times, long threads)
{
    for (int i = 0; i < times; i++) {
        pthread_t root;
        CHECK(!pthread_create(&root, NULL, region, (void *)threads));
        pthread_join(root, NULL);
    }
}
static void at_once(long threads)
{
    pthread_t root[2];
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&root[i], NULL, with_the_other, (void *)threads));
    for (int i = 0; i < 2; i++)
        pthread_join(root[i], NULL);
}
static void nested(void)
{
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(3)
    region((void *)2L);
}
static int child(void)
{
    int fresh = donors() == 0;
    region((void *)6L);
    return fresh && donors() == 5 && !check_failed ? 0 : 1;
}
int main(void)
{
    int status = -1;
    omp_set_dynamic(0);
    omp_set_max_active_levels(3);
    pthread_barrier_init(&both, NULL, 2);
    for (int round = 0; round < 20; round++) /* a worker for each thread */
        region((void *)3L);
    CHECK_EQ(donors(), 0);
    for (int round = 0; round < 20; round++)
        region((void *)8L);
    CHECK_EQ(donors(), 7);
    in_turn(20, 8);
    long one_other = donors();
    CHECK(one_other <= 14);
    in_turn(20, 8);
    CHECK_EQ(donors(), one_other);
    at_once(8);
    long two_others = donors();
    CHECK(two_others <= 21);
    at_once(8);
    in_turn(5, 8);
    CHECK_EQ(donors(), two_others);
    for (int round = 0; round < 50; round++)
        nested();
    CHECK(donors() <= two_others + 3 * 2 + 9); /* as many as there are threads in inner regions at a time */
    pid_t pid = fork();
    if (pid == 0)
        _exit(child());
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    region((void *)8L);
    return check_result();
}
