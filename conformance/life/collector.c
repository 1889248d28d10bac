/* Threads of regions are registered with Debian's garbage collector, which stops all of them by signals and
 * scans their stacks. Lists that only the threads' own stacks lead to have to be whole afterwards. */
#include "life.h"
#define GC_THREADS
#include <gc/gc.h>
enum { REGIONS = 3, LENGTH = 20000, EVERY = 4000, TASKS = 6 };
struct node {
    struct node *next;
    int number;
};

static struct node *list(void)
{
    struct node *first = 0;
    for (int i = 0; i < LENGTH; i++) {
        struct node *node = GC_MALLOC(sizeof *node);
        node->next = first;
        node->number = i;
        first = node;
        if (i % 100 == 0)
            GC_MALLOC(10000); /* garbage */
        if (i % EVERY == EVERY - 1)
            GC_gcollect();
    }
    return first;
}
static int is_whole(const struct node *node)
{
    int number = LENGTH - 1;
    for (; node && node->number == number; node = node->next)
        number--;
    return number == -1 && !node;
}
static int with(int threads)
{
    int whole = 0, size = 0;
    GC_INIT();
    GC_allow_register_threads();
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(threads) reduction(+ : whole)
        {
            struct GC_stack_base base;
            int mine = !GC_thread_is_registered() && GC_get_stack_base(&base) == GC_SUCCESS &&
                       GC_register_my_thread(&base) == GC_SUCCESS;
            whole += is_whole(list());
            if (mine)
                GC_unregister_my_thread();
#pragma omp single
            size = omp_get_num_threads();
        }
    }
    return whole == REGIONS * size;
}
/* Threads are registered once; their lists are made, and kept across a wait, by tasks. */
static int in_tasks(int threads)
{
    int whole = 0;
    GC_INIT();
    GC_allow_register_threads();
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(threads)
        {
            struct GC_stack_base base;
            if (!GC_thread_is_registered() && GC_get_stack_base(&base) == GC_SUCCESS)
                GC_register_my_thread(&base);
#pragma omp barrier
#pragma omp single
            for (int i = 0; i < TASKS; i++)
#pragma omp task shared(whole)
            {
                struct node *mine = list();
#pragma omp task shared(whole)
                {
                    int its = is_whole(list());
#pragma omp atomic
                    whole += its;
                }
#pragma omp taskwait
                int right = is_whole(mine);
#pragma omp atomic
                whole += right;
            }
        }
    }
    return whole == 2 * REGIONS * TASKS;
}
static int tasks_of_two(void)
{
    return in_tasks(2);
}
static int tasks_of_six(void)
{
    return in_tasks(6);
}
static int two(void)
{
    return with(2);
}
static int six(void)
{
    return with(6);
}
static int seventeen(void)
{
    return with(17);
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"two", two},
                                        {"six", six},
                                        {"seventeen", seventeen},
                                        {"tasks_of_two", tasks_of_two},
                                        {"tasks_of_six", tasks_of_six},
                                        {0, 0}};
    return life(argc, argv, cases);
}
