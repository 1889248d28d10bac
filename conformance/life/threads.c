/* Kernel threads of the program that run regions and end, limits, and the set of processors. */
#include "life.h"
#include <sched.h>
#include <sys/resource.h>
static long status(const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name) + 1);
    if (file)
        fclose(file);
    return value;
}
static void *one(void *unused)
{
    (void)unused;
    return region() ? (void *)1 : 0;
}
static int round_of(int threads)
{
    pthread_t thread[256];
    int right = 1;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], 0, one, 0))
            return 0;
    for (int i = 0; i < threads; i++) {
        void *value = 0;
        right &= !pthread_join(thread[i], &value) && value;
    }
    return right;
}
/* Rounds; the memory after the first ones is that after all, but for what an allocator keeps, and kernel
 * threads that stay are no more than those, or than could be at work at once. Threads that end take a moment.
 */
static int grows_not(int rounds, int threads)
{
    int right = region();
    for (int i = 0; i < rounds / 4; i++)
        right &= round_of(threads);
    usleep(200000);
    long tasks = status("Threads"), memory = status("VmRSS");
    for (int i = rounds / 4; i < rounds; i++)
        right &= round_of(threads);
    usleep(200000);
    long stay = status("Threads"), larger = status("VmRSS") - memory, most = (threads + 1) * TEAM;
    if (most < tasks + 1)
        most = tasks + 1;
    if (stay > most || larger > 4096)
        fprintf(stderr, "%ld threads, %ld kB more\n", stay, larger);
    return right && stay <= most && larger <= 4096;
}
static int in_turn(void)
{
    return grows_not(400, 1);
}
static int at_once(void)
{
    return grows_not(12, 200);
}
static int affinity(int before)
{
    cpu_set_t all, first;
    int cpu = 0, right = before || region();
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    sched_setaffinity(0, sizeof first, &first);
    right &= omp_get_num_procs() == 1 && region();
    sched_setaffinity(0, sizeof all, &all);
    return right && omp_get_num_procs() == CPU_COUNT(&all) && region();
}
static int affinity_before(void)
{
    return affinity(1);
}
static int affinity_after(void)
{
    return affinity(0);
}
static int large(void)
{
    long members = 0, size = 0;
#pragma omp parallel num_threads(32) reduction(+ : members)
    {
        members += omp_get_thread_num() + 1;
#pragma omp barrier
#pragma omp single
        size = omp_get_num_threads();
    }
    return size >= 1 && members == size * (size + 1) / 2 && region();
}
static int nproc(void)
{
    struct rlimit none = {1, 1};
    if (setgid(65534) || setuid(65534)) {
        puts("another user cannot be had");
        exit(77);
    }
    return !setrlimit(RLIMIT_NPROC, &none) && large();
}
static int leaves_of(int which, const char *used, int megabytes)
{
    rlim_t size = (rlim_t)status(used) * 1024 + ((rlim_t)megabytes << 20);
    struct rlimit little = {size, size};
    return !setrlimit(which, &little);
}
static int leaves(int megabytes)
{
    return leaves_of(RLIMIT_AS, "VmSize", megabytes);
}
static int fib(int n)
{
    int a = 0, b = 0;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
/* Tasks that wait in the middle, more than there are stacks for: for their children, for each other, for
 * inner regions. */
static int waiting_tasks(void)
{
    int sum = 0, turns = 0, inner = 0, most = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(32)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 200; i++)
#pragma omp task shared(most)
        {
#pragma omp atomic
            most++;
#pragma omp taskyield
        }
#pragma omp barrier
#pragma omp single
        {
#pragma omp task shared(sum)
            sum = fib(14);
            for (int i = 0; i < 50; i++)
#pragma omp task depend(inout : turns) shared(turns)
            {
                turns++;
#pragma omp taskyield
            }
#pragma omp taskgroup
            for (int i = 0; i < 20; i++)
#pragma omp task shared(inner)
            {
#pragma omp parallel num_threads(3) shared(inner)
                {
#pragma omp barrier
#pragma omp single
                    {
#pragma omp atomic
                        inner++;
                    }
                }
            }
        }
    }
    return sum == 377 && turns == 50 && inner == 20 && most == 200;
}
static int in_space(int megabytes)
{
    return leaves(megabytes) && large() && waiting_tasks() && large();
}
static int address_space(void)
{
    return leaves(20) && large();
}
static int address_space_none(void)
{
    return in_space(6);
}
static int address_space_tasks(void)
{
    return in_space(20);
}
static int address_space_more(void)
{
    return in_space(150);
}
/* A process for each limit, so that what is left beside the stacks is little now and much then. Each says
 * that it runs smaller teams, which is known. */
static int space_of_each_size(void)
{
    int right = 1;
    for (int megabytes = 20; megabytes < 270; megabytes += 3) {
        pid_t child = fork();
        if (!child)
            _exit(!freopen("/dev/null", "w", stderr) || !in_space(megabytes));
        int state = 0;
        if (waitpid(child, &state, 0) != child || state) {
            fprintf(stderr, "%d MiB: state %x\n", megabytes, state);
            right = 0;
        }
    }
    return right;
}
static int address_space_data(void)
{
    return leaves_of(RLIMIT_DATA, "VmData", 60) && large() && waiting_tasks() && large();
}
static int address_space_after(void)
{
    return region() && tasks() && nested() && in_space(60);
}
static int write_to(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    int written = file && fputs(text, file) >= 0;
    return file && !fclose(file) && written;
}
static int quota(void)
{
    char group[64], path[128];
    snprintf(group, sizeof group, "/sys/fs/cgroup/gangway-life-%d", (int)getpid());
    if (rmdir(group),
        access("/sys/fs/cgroup/cgroup.controllers", R_OK) || system("test -w /sys/fs/cgroup/cgroup.procs"))
        goto none;
    pid_t child = fork();
    if (!child) {
        char cmd[256];
        snprintf(cmd, sizeof cmd, "mkdir %s 2>/dev/null", group);
        snprintf(path, sizeof path, "%s/cpu.max", group);
        if (system(cmd) || !write_to(path, "50000 100000"))
            _exit(77);
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        if (!write_to(path, "0"))
            _exit(77);
        _exit(region() && tasks() && nested() ? 0 : 1);
    }
    int state = 0;
    waitpid(child, &state, 0);
    rmdir(group);
    if (WIFEXITED(state) && WEXITSTATUS(state) != 77)
        return WEXITSTATUS(state) == 0;
none:
    puts("no control group can be made");
    exit(77);
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"in_turn", in_turn},
                                        {"at_once", at_once},
                                        {"affinity_before", affinity_before},
                                        {"affinity_after", affinity_after},
                                        {"nproc", nproc},
                                        {"address_space", address_space},
                                        {"address_space_none", address_space_none},
                                        {"address_space_tasks", address_space_tasks},
                                        {"address_space_more", address_space_more},
                                        {"space_of_each_size", space_of_each_size},
                                        {"address_space_data", address_space_data},
                                        {"address_space_after", address_space_after},
                                        {"quota", quota},
                                        {0, 0}};
    return life(argc, argv, cases);
}
