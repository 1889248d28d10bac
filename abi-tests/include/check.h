/* Checks for the ABI tests. Usable from several threads. A program ends with
 * `return check_result();`, which is a failure unless at least one check was made. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <omp.h>

static int check_made, check_failed;

static void check_report(int right, const char *file, int line, const char *what, long long got,
                         long long want)
{
    __atomic_fetch_add(&check_made, 1, __ATOMIC_RELAXED);
    if (!right && __atomic_fetch_add(&check_failed, 1, __ATOMIC_RELAXED) < 8)
        fprintf(stderr, "%s:%d: %s: expected %lld, got %lld\n",
                strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what, want, got);
}

#define CHECK(condition) check_report(!!(condition), __FILE__, __LINE__, #condition, 0, 1)
#define CHECK_EQ(got, want) \
    do { \
        long long check_got = (long long)(got), check_want = (long long)(want); \
        check_report(check_got == check_want, __FILE__, __LINE__, #got, check_got, check_want); \
    } while (0)

static int check_result(void)
{
    if (check_made == 0)
        fprintf(stderr, "nothing was checked\n");
    return check_failed != 0 || check_made == 0;
}
#endif
