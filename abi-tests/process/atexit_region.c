// what: regions in a constructor, in atexit handlers and in a destructor function
// expect-stdout: atexit right*destructor right
#include "check.h"
static int region(void)
{
    int sum = 0, n = omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    return sum == n * (n + 1) / 2;
}
static int early;
__attribute__((constructor)) static void before(void)
{
    early = region();
}
__attribute__((destructor)) static void after(void)
{
    puts(region() ? "destructor right" : "destructor wrong");
    fflush(stdout);
}
static void at_exit(void)
{
    puts(region() ? "atexit right" : "atexit wrong");
}
int main(void)
{
    CHECK(early);
    CHECK(region());
    atexit(at_exit);
    return check_result();
}
