// what: sched_yield returns 0 and keeps errno, from main, threads of a region, tasks and a thread of the program's own
// threads: 1,2,4,8
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>

static void *yield_often(void *unused)
{
    for (int i = 0; i < 100; i++) {
        errno = 1000 + i;
        CHECK_EQ(sched_yield(), 0);
        CHECK_EQ(errno, 1000 + i);
    }
    return unused;
}

/* Linked first or preloaded, the library's own definition is the one that is called. */
static void check_whose(const char *library)
{
    Dl_info info;
    char path[PATH_MAX] = "nowhere";
    void *address = dlsym(RTLD_DEFAULT, "sched_yield");
    if (address != NULL && dladdr(address, &info) && realpath(info.dli_fname, path) == NULL)
        strcpy(path, "nowhere");
    if (strcmp(path, library) != 0)
        fprintf(stderr, "sched_yield comes from %s\n", path);
    CHECK_EQ(strcmp(path, library), 0);
}

int main(void)
{
    const char *library = getenv("ABI_TESTS_LIBRARY");
    pthread_t thread;
    if (library)
        check_whose(library);
    yield_often(NULL);
#pragma omp parallel
    {
        yield_often(NULL);
#pragma omp task
        yield_often(NULL);
    }
    CHECK_EQ(pthread_create(&thread, NULL, yield_often, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return check_result();
}
