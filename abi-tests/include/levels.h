/* The body of identity/levels.*: thread-private variables of every kind in teams of 1 to 17 threads, each of
 * which forks a team of two or three, whose threads fork one of two. At each level: what copyin brings, that
 * the copies of a team's threads are apart while all are alive, that the first thread's copy is its parent's,
 * and that threads of the outermost level find theirs again in the next region of that size. */
#include "check.h"
#include <errno.h>
#ifdef __cplusplus
#define LOCAL thread_local
#else
#define LOCAL __thread
#endif
struct pair {
    long first;
    char name[24];
};
long scalar;
static int series[40];
struct pair both;
#pragma omp threadprivate(scalar, series, both)
LOCAL long local;
static LOCAL struct pair local_pair;

/* All of the thread's variables are of `id`. */
static void own(long id)
{
    scalar = local = both.first = local_pair.first = id;
    snprintf(both.name, sizeof both.name, "thread %ld", id);
    memcpy(local_pair.name, both.name, sizeof both.name);
    for (int i = 0; i < 40; i++)
        series[i] = (int)id + i;
    errno = (int)(id % 100) + 1;
}

/* They are still. */
static void still(long id, int with_errno)
{
    char name[24];
    int kept = errno;
    snprintf(name, sizeof name, "thread %ld", id);
    if (with_errno)
        CHECK_EQ(kept, (int)(id % 100) + 1);
    CHECK_EQ(scalar, id);
    CHECK_EQ(local, id);
    CHECK_EQ(both.first, id);
    CHECK_EQ(local_pair.first, id);
    CHECK(!strcmp(both.name, name) && !strcmp(local_pair.name, name));
    CHECK_EQ(series[0], id);
    CHECK_EQ(series[39], id + 39);
}

static void inner(long parent, int size, int levels)
{
    const void *scalars = &scalar, *locals = &local;
#pragma omp parallel num_threads(size) copyin(scalar, series, both)
    {
        int number = omp_get_thread_num();
        long id = parent * 4 + number + 1;
        CHECK_EQ(omp_get_num_threads(), size);
        CHECK_EQ(scalar, parent);
        CHECK_EQ(series[39], parent + 39);
        CHECK_EQ(both.first, parent);
        CHECK_EQ(&scalar == scalars, number == 0);
        CHECK_EQ(&local == locals, number == 0);
#pragma omp barrier
        own(id);
#pragma omp barrier
        still(id, 1);
        if (levels > 1)
            inner(id, 2, levels - 1);
        if (levels > 1)
            own(id); /* its copies were its first child's, too */
#pragma omp barrier
        still(id, 0);
    }
}

static void of_size(int size)
{
    static const void *scalars[17];
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(size)
        {
            int number = omp_get_thread_num();
            long id = size * 100 + number;
            CHECK_EQ(omp_get_num_threads(), size);
            if (round > 0) {
                still(id, 0);
                CHECK(scalars[number] == &scalar);
            }
            own(id);
            scalars[number] = &scalar;
#pragma omp barrier
            still(id, 1);
            for (int other = 0; other < number; other++)
                CHECK(scalars[other] != &scalar);
            if (round < 2)
                inner(id, 2 + number % 2, 2);
            own(id);
#pragma omp barrier
            still(id, 1);
        }
    }
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_max_active_levels(3);
    for (int size = 1; size <= 17; size++)
        of_size(size);
    for (int size = 17; size >= 1; size -= 4)
        of_size(size);
    return check_result();
}
