/* fork and exec in every place. A child runs regions of its own wherever that is meaningful. */
#include "life.h"
#include <spawn.h>
extern char **environ;
/* The status with which a child ends its own test. A child that leaves its task too early ends with 0. */
enum { DONE = 42 };
static int child_of(int (*does)(void))
{
    pid_t child = fork();
    if (!child)
        _exit(does() ? DONE : 1);
    return ended(child, DONE);
}
static int all(void)
{
    return region() && tasks() && nested();
}
static int before(void)
{
    return child_of(all) && all();
}
static int after(void)
{
    return region() && child_of(all) && all();
}
static int after_nested(void)
{
    return nested() && child_of(all) && all();
}
static int after_tasks(void)
{
    return tasks() && child_of(all) && all();
}
static int many(void)
{
    int right = region();
    for (int i = 0; i < 30; i++)
        right &= child_of(region) && region();
    return right;
}
/* One thread, not the first, forks; the others wait for it in a barrier. */
static int inside(int (*does)(void))
{
    int right = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(TEAM) shared(right)
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            right = does();
#pragma omp barrier
    }
    return right && region();
}
static int nothing(void)
{
    return 1;
}
static int leaves(void)
{
    return child_of(nothing);
}
static int forks_region(void)
{
    return child_of(region);
}
static int execs(void)
{
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", "fork", "before", (char *)0);
        _exit(3);
    }
    return ended(child, 0);
}
static int vforks(void)
{
    pid_t child = vfork();
    if (!child) {
        execl("/bin/true", "true", (char *)0);
        _exit(3);
    }
    return ended(child, 0);
}
static int spawns(void)
{
    char *words[] = {"true", 0};
    pid_t child;
    return !posix_spawn(&child, "/bin/true", 0, 0, words, environ) && ended(child, 0);
}
static int calls_system(void)
{
    return system("exit 5") == 5 << 8;
}
static int inside_exit(void)
{
    return inside(leaves);
}
static int inside_region(void)
{
    return inside(forks_region);
}
/* The grandchild's only thread comes from a team of the child. */
static int forks_inside_region(void)
{
    return child_of(inside_region);
}
static int inside_twice(void)
{
    return inside(forks_inside_region);
}
static int inside_exec(void)
{
    return inside(execs);
}
static int inside_vfork(void)
{
    return inside(vforks);
}
static int inside_spawn(void)
{
    return inside(spawns);
}
static int inside_system(void)
{
    return inside(calls_system);
}
/* Makes so many tasks, and adds up what they answer. */
static void sum_tasks(int count, int (*answer)(int number), int *sum)
{
    for (int i = 0; i < count; i++)
#pragma omp task
    {
        int one = answer(i);
#pragma omp atomic
        *sum += one;
    }
}
static int every_fourth_forks(int number)
{
    return number % 4 ? region() : child_of(region);
}
static int inside_task(void)
{
    int right = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    sum_tasks(8, every_fourth_forks, &right);
    return right == 8;
}
/* The child's thread waits for others in the middle of its task. Meanwhile the barrier of the parent's team,
 * where nobody else will come, must not end. */
static int slow_region(void)
{
    int came = 0, size = 0;
#pragma omp parallel num_threads(2) reduction(+ : came)
    {
        if (omp_get_thread_num() == 1)
            usleep(20000);
        came = 1;
#pragma omp single
        size = omp_get_num_threads();
    }
    return came == size;
}
static int sleeps(void)
{
    usleep(20000);
    return 1;
}
static int slow_answer(int number)
{
    (void)number;
    return slow_region();
}
static int slow_tasks(void)
{
    int right = 0;
    sum_tasks(3, slow_answer, &right);
#pragma omp taskwait
    return right == 3;
}
static int slow_child(int number)
{
    int (*const does[])(void) = {slow_region, slow_tasks, sleeps};
    return child_of(does[number % 3]);
}
/* The tasks fork while their thread waits at the barrier of the first `single`, or at the end of the region.
 */
static int inside_slow_task(void)
{
    int right = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp single
        sum_tasks(9, slow_child, &right);
#pragma omp single nowait
        sum_tasks(9, slow_child, &right);
    }
    return right == 18;
}
static void *from_thread(void *out)
{
    *(int *)out = region() && child_of(all) && region();
    return 0;
}
static int foreign(void)
{
    int right = 0;
    pthread_t thread;
    return !pthread_create(&thread, 0, from_thread, &right) && !pthread_join(thread, 0) && right && all();
}
static int stop;
static void *busy(void *out)
{
    int right = 1;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        right &= region();
    *(int *)out = right;
    return 0;
}
static int other_in_region(void)
{
    int theirs = 0, right = region();
    pthread_t thread;
    if (pthread_create(&thread, 0, busy, &theirs))
        return 0;
    for (int i = 0; i < 60; i++) {
        usleep(300);
        right &= child_of(region);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    return !pthread_join(thread, 0) && right && theirs;
}
static int link_2(void)
{
    return region() && child_of(all) && region();
}
static int link_1(void)
{
    return region() && child_of(link_2) && region();
}
static int chain(void)
{
    return region() && child_of(link_1) && all();
}
static int exec_after(void)
{
    int right = all();
    fflush(stdout);
    if (right)
        execl("/proc/self/exe", "fork", "after", (char *)0);
    return 0;
}
static int exec_inside(void)
{
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        execl("/proc/self/exe", "fork", "before", (char *)0);
    return 0;
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"before", before},
                                        {"after", after},
                                        {"after_nested", after_nested},
                                        {"after_tasks", after_tasks},
                                        {"many", many},
                                        {"inside_exit", inside_exit},
                                        {"inside_region", inside_region},
                                        {"inside_twice", inside_twice},
                                        {"inside_exec", inside_exec},
                                        {"inside_task", inside_task},
                                        {"inside_slow_task", inside_slow_task},
                                        {"inside_vfork", inside_vfork},
                                        {"inside_spawn", inside_spawn},
                                        {"inside_system", inside_system},
                                        {"foreign", foreign},
                                        {"other_in_region", other_in_region},
                                        {"chain", chain},
                                        {"exec_after", exec_after},
                                        {"exec_inside", exec_inside},
                                        {0, 0}};
    return life(argc, argv, cases);
}
