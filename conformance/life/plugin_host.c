/* A host that uses no OpenMP itself opens and closes a plugin that does. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
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
            if (pthread_create(&a, 0, other, &one) || pthread_create(&b, 0, other, &two) || pthread_join(a, 0) || pthread_join(b, 0))
                return 65;
            right = right && one && two;
        }
    else
        return 64;
    puts(right ? "right" : "wrong");
    return !right;
}
