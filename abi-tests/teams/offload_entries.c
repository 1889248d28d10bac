// what: entry points of LLVM's offloading library: launches run on the host, memory is the host's, interop objects are none
// ours: the other runtimes have them in a library of its own, or not at all
// threads: 1,4
// mode: link
#include "check.h"

int __tgt_target(long device, void *host, int n, void **bases, void **addresses, long *sizes, long *kinds);
int __tgt_target_teams_nowait_mapper(void *loc, long device, void *host, int n, void **bases,
                                     void **addresses, long *sizes, long *kinds, void **names, void **mappers,
                                     int teams, int threads, int count, void *list, int count2, void *list2);
int __tgt_target_kernel_nowait(void *loc, long device, int teams, int threads, void *host, void *arguments,
                               int n, void *l, int m, void *k);
void __tgt_target_data_begin(long device, int n, void **bases, void **addresses, long *sizes, long *kinds);
void __tgt_register_lib(void *), __tgt_unregister_lib(void *), __tgt_register_requires(long);
int __tgt_print_device_info(long);
void *llvm_omp_target_alloc_host(size_t, int), *llvm_omp_target_alloc_shared(size_t, int),
    *llvm_omp_target_lock_mem(void *, size_t, int);
void llvm_omp_target_free_host(void *, int), llvm_omp_target_free_shared(void *, int);
int __kmpc_global_thread_num(void *);
void __tgt_interop_init(void *, int, void **, int, int, int, void *, int),
    __tgt_interop_destroy(void *, int, void **, int, int, void *, int);
void __tgt_interop_use(void *, int, void **, int, int, void *, int);
typedef struct {
    void *shareds;
    int (*routine)(int, void *);
    int part;
    void *data[2];
} task_t;
task_t *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, void *));
int __kmpc_omp_task(void *, int, task_t *);
void __kmpc_proxy_task_completed_ooo(task_t *), __kmpc_proxy_task_completed(int, task_t *);
void *__kmpc_omp_get_target_async_handle_ptr(int);
int __kmpc_pause_resource(int);

static int started;
static int begin(int gtid, void *task)
{
    (void)gtid, (void)task;
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void)
{
    int gtid = __kmpc_global_thread_num(0), data = 5;
    void *no_images[4] = {0}; /* a descriptor without any */
    void *object = &data, *block;
    CHECK(__tgt_target(-1, (void *)main, 0, 0, 0, 0, 0) != 0);
    CHECK(__tgt_target_teams_nowait_mapper(0, -1, (void *)main, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0) != 0);
    CHECK(__tgt_target_kernel_nowait(0, -1, 0, 0, (void *)main, 0, 0, 0, 0, 0) != 0);
    __tgt_register_requires(1), __tgt_register_lib(no_images), __tgt_unregister_lib(no_images);
    __tgt_target_data_begin(-1, 0, 0, 0, 0, 0);
    CHECK_EQ(__tgt_print_device_info(0), 0);
    block = llvm_omp_target_alloc_host(100, 0);
    CHECK(block != 0 && memset(block, 1, 100) == block);
    llvm_omp_target_free_host(block, 0);
    block = llvm_omp_target_alloc_shared(100, 0);
    CHECK(block != 0 && llvm_omp_target_lock_mem(block, 100, 0) == block);
    llvm_omp_target_free_shared(block, 0);
    __tgt_interop_init(0, gtid, &object, 1, 0, 0, 0, 0);
    CHECK(object == 0);
    __tgt_interop_use(0, gtid, &object, 0, 0, 0, 0);
    __tgt_interop_destroy(0, gtid, &object, 0, 0, 0, 0);
    CHECK(object == 0 && data == 5);
    CHECK(__kmpc_omp_get_target_async_handle_ptr(gtid) == 0);
    CHECK_EQ(__kmpc_pause_resource(1), 0);
    CHECK_EQ(__kmpc_pause_resource(7), 1);

    /* A proxy task is incomplete until somebody says that what it stands for has ended. */
    int late = 0;
#pragma omp parallel shared(late)
#pragma omp single
    {
        task_t *task[2];
        for (int i = 0; i < 2; i++) {
            task[i] = __kmpc_omp_task_alloc(0, gtid, 1 | 16, sizeof(task_t), 0, begin);
            __kmpc_omp_task(0, gtid, task[i]);
        }
#pragma omp task shared(late)
        {
            __atomic_store_n(&late, 1, __ATOMIC_SEQ_CST);
            __kmpc_proxy_task_completed(gtid, task[0]);
            __kmpc_proxy_task_completed_ooo(task[1]);
        }
#pragma omp taskwait
        CHECK_EQ(late, 1);
        CHECK_EQ(started, 2);
    }
    return check_result();
}
