// what: the calls of the program reach the library under test, however it was loaded, and no other runtime
// threads: 1,2,4
#include "check.h"
#include <dlfcn.h>
#include <limits.h>
static void comes_from(const char *symbol, const char *library)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    char path[PATH_MAX];
    if (address == NULL || !dladdr(address, &info) || realpath(info.dli_fname, path) == NULL)
        strcpy(path, "nowhere");
    if (strcmp(path, library) != 0)
        fprintf(stderr, "%s comes from %s, expected %s\n", symbol, path, library);
    CHECK_EQ(strcmp(path, library), 0);
}
int main(void)
{
    const char *library = getenv("ABI_TESTS_LIBRARY");
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    CHECK_EQ(n, omp_get_max_threads());
    if (library) {
        comes_from("omp_get_max_threads", library);
        comes_from("omp_get_wtime", library);
        comes_from("__kmpc_fork_call", library);
        comes_from("GOMP_parallel", library);
        comes_from("GOMP_task", library);
        comes_from("__kmpc_omp_task", library);
    }
    return check_result();
}
