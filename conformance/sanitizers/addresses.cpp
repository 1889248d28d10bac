// tool: address
// Stacks of our own under AddressSanitizer: what is right gives no report (exceptions, jumps, deep frames,
// frames that others refer to, recycled stacks), and what is wrong in a task or a nested region is reported,
// with the name of the function that did it.
#include <omp.h>
#include <setjmp.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>
#include <vector>

#define APART __attribute__((noinline))

static int failed;
#define CHECK(condition) \
    ((condition) ? 0 : (failed = 1, fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition)))

static volatile int zero;
static volatile long sink;

// Calls `f` in a task that waits for a child, below a nested region: on a stack of ours however it is looked
// at.
template <class F>
static void in_task(F f)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
            {
#pragma omp task
                usleep(1000);
#pragma omp taskwait
                if (i == 2)
                    f();
            }
        }
    }
}

template <class F>
static void nested(F f)
{
#pragma omp parallel num_threads(3)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        if (outer == 2 && omp_get_thread_num() == 1)
            f();
    }
}

static void exceptions()
{
    int caught = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(4) reduction(+ : caught)
        {
#pragma omp single nowait
            for (int i = 0; i < 8; i++) {
#pragma omp task
                {
                    char frame[2000];
                    memset(frame, i, sizeof frame);
                    try {
                        std::string text(100, 'x');
#pragma omp taskyield
                        if (zero == 0)
                            throw std::runtime_error(text);
                    } catch (const std::exception &e) {
#pragma omp task
                        sink += frame[0];
#pragma omp taskwait
                        CHECK(strlen(e.what()) == 100);
                    }
                }
            }
            try {
                std::vector<int> v(3);
                v.at(3 + zero) = 1;
            } catch (const std::out_of_range &) {
                caught++;
            }
        }
    }
    CHECK(caught == 80);
}

APART static void jump(jmp_buf to, int depth)
{
    char frame[300];
    memset(frame, depth, sizeof frame);
    if (depth == 0)
        longjmp(to, 1);
    jump(to, depth - 1);
    sink += frame[depth];
}

APART static int jump_once(int depth)
{
    jmp_buf here;
    char frame[100] = {0};
    if (setjmp(here) == 0)
        jump(here, depth);
    return frame[depth] + 1;
}

static void jumps()
{
    int count = 0;
    auto several = [&] {
        for (int i = 0; i < 50; i++)
            count += jump_once(i);
    };
    in_task(several);
    nested(several);
    CHECK(count == 100);
}

APART static long deep(int depth)
{
    char frame[1000];
    memset(frame, depth, sizeof frame);
    return depth == 0 ? frame[zero] : deep(depth - 1) + frame[zero] / 128;
}

static void deep_stacks()
{
    in_task([] { sink += deep(600); });
    nested([] { sink += deep(600); });
#pragma omp parallel num_threads(4)
    {
        volatile char large[400000];
        (void)large;
        large[omp_get_thread_num()] = 1;
#pragma omp barrier
        large[399999 - zero] = 1;
    }
}

// Tasks use variables of functions that wait for them, on stacks that are left and come back to many times.
APART static int wait_for(int depth)
{
    int a = 0, b = 0, own[16];
    if (depth == 0)
        return 1;
    for (int i = 0; i < 16; i++)
        own[i] = depth;
#pragma omp task shared(a)
    a = wait_for(depth - 1);
#pragma omp task shared(b, own)
    {
        int inner[8] = {own[15]};
        b = wait_for(depth - 1) + inner[0] - depth;
    }
#pragma omp taskwait
    return a + b;
}

static void shared_frames()
{
    int leaves = 0;
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(4)
#pragma omp single
        leaves += wait_for(9);
    }
    CHECK(leaves == 3 * 512);
}

static void recycled()
{
    for (int i = 0; i < 60; i++) {
#pragma omp parallel num_threads(2 + i % 5)
        {
            std::string mine(200, 'm');
#pragma omp task firstprivate(mine)
            {
                mine += "and more";
#pragma omp taskyield
                CHECK(mine.size() == 208);
            }
#pragma omp parallel num_threads(2)
            sink += mine.size();
        }
    }
}

// What is allocated in one task and freed in another, and what is still in use when the process ends, is no
// leak.
static void no_leak()
{
    char *blocks[64];
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 64; i++) {
#pragma omp task depend(out : blocks[i])
        blocks[i] = (char *)malloc(100 + i);
#pragma omp task depend(in : blocks[i])
        free(blocks[i]);
    }
}

APART static void hold()
{
    char *block = (char *)malloc(77);
#pragma omp task
    usleep(1000);
#pragma omp taskwait
#pragma omp barrier
    if (omp_get_thread_num() == 1)
        exit(failed);
    usleep(30000000);
    free(block);
}

static void exit_in_region()
{
#pragma omp parallel num_threads(4)
    hold();
}

// ---- wrong
// ----------------------------------------------------------------------------------------------------

APART static void overflows_heap()
{
    volatile char *block = (volatile char *)malloc(10);
    block[10 + zero] = 1;
    free((void *)block);
}

APART static void overflows_stack()
{
    volatile char block[10];
    block[zero] = 1;
    for (int i = 0; i < 11 + zero; i++)
        sink += block[i];
}

APART static void uses_after_free()
{
    volatile char *block = (volatile char *)malloc(10);
#pragma omp task
    free((void *)block);
#pragma omp taskwait
    block[3 + zero] = 1;
}

APART static void uses_after_scope()
{
    volatile int *volatile lost;
    {
        volatile int inner[4] = {1, 2, 3, 4};
        lost = inner + zero;
    }
    *lost = 3;
}

static volatile int *volatile escaped;
APART static void lets_escape()
{
    volatile int own[4] = {1, 2, 3, 4};
    escaped = own + zero;
}

APART static void uses_after_return()
{
    lets_escape();
#pragma omp task
    usleep(10);
#pragma omp taskwait
    *escaped = 1;
}

// The task that was not waited for touches a variable of the function that made it.
APART static void leaves_task_behind()
{
    volatile int own[4] = {1, 2, 3, 4};
#pragma omp task shared(own)
    {
        usleep(200000);
        own[1 + zero] = 5;
    }
}

APART static void lets_task_escape()
{
    leaves_task_behind();
    usleep(100000);
#pragma omp taskwait
}

// Several, because the last one's address may still lie in a part of the stack that is not in use.
APART static void leaks()
{
    for (int i = 0; i < 20; i++) {
        volatile char *block = (volatile char *)malloc(123);
        block[zero] = 1;
    }
}

APART static int recurses(int n)
{
    volatile char frame[500];
    frame[n % 500] = 1;
    return recurses(n + 1) + frame[n % 500];
}

struct Case {
    const char *name;
    void (*run)();
    // What the report says; nothing: there is none.
    const char *report;
};

#define WRONG(name, report) \
    {#name "/task", [] { in_task(name); }, report}, \
    { \
        #name "/nested", [] { nested(name); }, report \
    }

static const Case CASES[] = {
    {"exceptions", exceptions, ""},
    {"jumps", jumps, ""},
    {"deep_stacks", deep_stacks, ""},
    {"shared_frames", shared_frames, ""},
    {"recycled", recycled, ""},
    {"no_leak", no_leak, ""},
    {"exit_in_region", exit_in_region, ""},
    WRONG(overflows_heap, "heap-buffer-overflow|in overflows_heap"),
    WRONG(overflows_stack, "stack-buffer-overflow|in overflows_stack"),
    WRONG(uses_after_free, "heap-use-after-free|in uses_after_free"),
    WRONG(uses_after_scope, "stack-use-after-scope|in uses_after_scope"),
    WRONG(uses_after_return, "stack-use-after-return|in uses_after_return"),
    {"lets_task_escape/task", [] { in_task(lets_task_escape); }, "stack-use-after-return"},
    WRONG(leaks, "detected memory leaks|in leaks"),
    {"recurses/task", [] { in_task([] { recurses(0); }); }, "overflow"},
    {"recurses/nested", [] { nested([] { recurses(0); }); }, "overflow"},
};

int main(int count, char **arguments)
{
    omp_set_max_active_levels(3);
    if (count < 2)
        return 2;
    bool lists = strcmp(arguments[1], "list") == 0;
    int found = 0;
    for (const Case &c : CASES) {
        if (lists) {
            printf("%s\t%s\n", c.name, c.report);
        } else if (strcmp(arguments[1], c.name) == 0) {
            found++;
            c.run();
        }
    }
    return lists ? 0 : found == 1 ? failed : 2;
}
