/* A program with OpenMP opens a plugin within a region, each thread in its turn, and closes it there. */
#include "life.h"
#include <dlfcn.h>
int main(int argc, char **argv)
{
    int right = 0, size = 0;
    omp_set_max_active_levels(3);
    if (argc < 3)
        return 64;
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp critical
        {
            void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
            int (*does)(void) = 0;
            if (plugin)
                *(void **)&does = dlsym(plugin, "plugin_run");
            right += does && does() && !dlclose(plugin);
        }
#pragma omp single
        size = omp_get_num_threads();
    }
    right = right == size && region();
    puts(right ? "right" : "wrong");
    return !right;
}
