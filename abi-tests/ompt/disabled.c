// what: OMP_TOOL=disabled: the program's own tool is not started
// ours: libgomp has no interface for tools
// compilers: gcc,clang>=19
// threads: 2
// env: OMP_TOOL=disabled
// flags: gcc -rdynamic
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <omp-tools.h>

static int started;

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    (void)version, (void)runtime;
    started = 1;
    return NULL;
}

int main(void)
{
    int ran = 0;
#pragma omp parallel
#pragma omp atomic
    ran++;
    CHECK_EQ(ran, omp_get_max_threads());
    CHECK_EQ(started, 0);
    int (*control)(int, int, void *) = (int (*)(int, int, void *))dlsym(RTLD_DEFAULT, "omp_control_tool");
    CHECK(control && control(1, 0, NULL) == -2);
    return check_result();
}
