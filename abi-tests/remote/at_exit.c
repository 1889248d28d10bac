// what: what was invoked is done before the program ends, also what that invokes; regions and tasks inside
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"
#include <unistd.h>

enum { CHAINS = 20, LINKS = 5 };

static int done;

static void link_of(const void *args, size_t bytes, ompx_result_t *result)
{
    int left = *(const int *)args, sum = 0;
    (void)result;
    usleep(2000);
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum++;
    CHECK_EQ(sum, 3);
    if (--left > 0)
        CHECK_EQ(ompx_invoke(0, link_of, &left, bytes, NULL), 0);
#pragma omp task shared(done)
    {
#pragma omp atomic
        done++;
    }
#pragma omp taskwait
}

static void all_is_done(void)
{
    if (done != CHAINS * LINKS || check_failed) {
        fprintf(stderr, "%d of %d\n", done, CHAINS * LINKS);
        fflush(stderr);
        _exit(1);
    }
}

int main(void)
{
    int links = LINKS;
    atexit(all_is_done);
    for (int i = 0; i < CHAINS; i++)
        CHECK_EQ(ompx_invoke(0, link_of, &links, sizeof links, NULL), 0);
    return check_result();
}
