// what: a function that calls exit ends the program with its status, though others wait for what will not come
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
// expect-exit: 3
#include "check.h"
#include "ompx.h"

static void waits(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    (void)result;
    ompx_future_wait(*(const ompx_future_t *)args);
}

static void exits(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    exit(3);
}

int main(void)
{
    ompx_future_t never;
    CHECK_EQ(ompx_future_create(&never), 0);
    CHECK_EQ(ompx_invoke(0, waits, &never, sizeof never, NULL), 0);
    CHECK_EQ(ompx_invoke(0, exits, NULL, 0, NULL), 0);
    ompx_future_wait(never);
    return 0;
}
