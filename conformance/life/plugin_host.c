/* A host that uses no OpenMP itself opens and closes a plugin that does. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *file;
static int once(int run)
{
    void *plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    int (*does)(void);
    if (!plugin)
        return fprintf(stderr, "%s\n", dlerror()), 0;
    *(void **)&does = dlsym(plugin, "plugin_run");
    int right = does && (!run || does());
    return !dlclose(plugin) && right;
}
static void *other(void *out)
{
    *(int *)out = once(1) && once(1);
    return 0;
}
/* The same plugin under two names: two modules of thread-local storage, which take each other's number and
 * blocks when they come and go in turn. */
static int copy(char *name, size_t room, int which)
{
    char command[2000];
    snprintf(name, room, "/tmp/life_plugin_%d_%d.so", (int)getpid(), which);
    snprintf(command, sizeof command, "cp '%s' '%s'", file, name);
    return !system(command);
}
static void *is_loaded(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_NOLOAD);
}
static int storage(void)
{
    char name[2][200];
    void *open[2];
    int right = copy(name[0], sizeof name[0], 0) && copy(name[1], sizeof name[1], 1);
    for (int round = 0; round < 30 && right; round++) {
        int first = round % 2, both = round % 3 == 0;
        for (int i = 0; i <= both; i++) {
            int (*does)(int), which = (first + i) % 2;
            open[which] = dlopen(name[which], RTLD_NOW | RTLD_LOCAL);
            *(void **)&does = open[which] ? dlsym(open[which], "plugin_storage") : 0;
            right = right && does && does(100 * round + i);
        }
        for (int i = 0; i <= both && right; i++) {
            int which = (first + (round % 5 == 0) + i) % 2;
            which = both ? which : first;
            right = !dlclose(open[which]) && !is_loaded(name[which]);
        }
    }
    unlink(name[0]), unlink(name[1]);
    return right;
}
int main(int argc, char **argv)
{
    int right = 1;
    if (argc < 3)
        return 64;
    file = argv[2];
    if (!strcmp(argv[1], "cycles"))
        for (int i = 0; i < 60; i++) {
            right = once(i % 3 != 2) && right;
            usleep(500);
        }
    else if (!strcmp(argv[1], "from_threads"))
        for (int i = 0; i < 20; i++) {
            int one = 0, two = 0;
            pthread_t a, b;
            if (pthread_create(&a, 0, other, &one) || pthread_create(&b, 0, other, &two) ||
                pthread_join(a, 0) || pthread_join(b, 0))
                return 65;
            right = right && one && two;
        }
    else if (!strcmp(argv[1], "storage"))
        right = storage();
    else
        return 64;
    puts(right ? "right" : "wrong");
    return !right;
}
