// what: LLVM's view of the dependence graph: an edge between two tasks is there once, whatever they share
// compilers: clang>=19
// threads: 2,4
#include "check.h"
struct location {
    int reserved, flags, reserved2, reserved3;
    const char *text;
};
struct dependence {
    void *address;
    size_t length;
    unsigned char flags;
};
struct successor {
    void *node;
    struct successor *next;
};
typedef int (*routine_t)(int, void *);
void *__kmpc_omp_task_alloc(struct location *, int, int, size_t, size_t, routine_t);
int __kmpc_omp_task_with_deps(struct location *, int, void *, int, struct dependence *, int,
                              struct dependence *);
int __kmpc_global_thread_num(struct location *);
struct successor *__kmpc_task_get_successors(void *);
void *__kmpc_task_get_depnode(void *);
static struct location here = {0, 2, 0, 0, ";file;function;0;0;;"};
static int ran;
static int body(int gtid, void *task)
{
    (void)gtid, (void)task;
#pragma omp atomic
    ran++;
    return 0;
}
static void *make(int flags, struct dependence *list, int count)
{
    int gtid = __kmpc_global_thread_num(&here);
    void *task = __kmpc_omp_task_alloc(&here, gtid, 1, 64, 0, body);
    for (int i = 0; i < count; i++)
        list[i].flags = flags;
    __kmpc_omp_task_with_deps(&here, gtid, task, count, list, 0, NULL);
    return task;
}
int main(void)
{
    int x, y, held = 1;
    /* The other threads wait in user code, so that no task runs before the graph has been looked at. */
#pragma omp parallel shared(held)
    {
        int wait = 1;
        while (omp_get_thread_num() != 0 && wait)
#pragma omp atomic read
            wait = held;
        if (omp_get_thread_num() == 0) {
            struct dependence list[2] = {{&x, 0, 0}, {&y, 0, 0}};
            void *first = make(3, list, 2), *second = make(1, list, 2), *third = make(1, list, 1);
            struct successor *all = __kmpc_task_get_successors(first);
            CHECK(all && all->next && !all->next->next);
            if (all && all->next) {
                CHECK(all->node == __kmpc_task_get_depnode(second) ||
                      all->next->node == __kmpc_task_get_depnode(second));
                CHECK(all->node == __kmpc_task_get_depnode(third) ||
                      all->next->node == __kmpc_task_get_depnode(third));
            }
            CHECK(__kmpc_task_get_successors(second) == NULL);
#pragma omp atomic write
            held = 0;
        }
    }
    CHECK_EQ(ran, 3);
    return check_result();
}
