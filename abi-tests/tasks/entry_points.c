// what: the entry points that make tasks, with sizes, alignments, lists of dependences, bounds and strides of taskloops and sizes of reductions of all kinds, by chance
// ours: names of both runtimes in one program
// compilers: gcc,clang>=19
// threads: 1,3,8
// mode: link
// timeout: 60
// Sizes: each task finds its data and its shared part whole, apart and aligned. Dependences: how often each
// address was written before is known when the task is made. Taskloops: all parts together are every
// iteration once, in 128-bit arithmetic. Reductions: every byte of every copy is added up.
#include "loops_by_chance.h"
typedef struct kmp_task {
    void *shareds;
    int (*routine)(int, struct kmp_task *);
    int part;
    void *destructors, *priority;
} kmp_task;
struct depend {
    uintptr_t base;
    size_t length;
    unsigned char flags;
};
struct reduction {
    void *shared, *original;
    size_t size;
    void *init, *fini, (*combine)(void *, void *);
    unsigned flags;
};
int __kmpc_global_thread_num(void *);
kmp_task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, kmp_task *));
int __kmpc_omp_task(void *, int, kmp_task *);
int __kmpc_omp_task_with_deps(void *, int, kmp_task *, int, const struct depend *, int,
                              const struct depend *);
void __kmpc_omp_wait_deps(void *, int, int, const struct depend *, int, const struct depend *);
int __kmpc_omp_taskwait(void *, int);
void __kmpc_taskgroup(void *, int), __kmpc_end_taskgroup(void *, int);
void __kmpc_taskloop(void *, int, kmp_task *, int, uint64_t *, uint64_t *, int64_t, int, int, uint64_t,
                     void *);
void __kmpc_taskloop_5(void *, int, kmp_task *, int, uint64_t *, uint64_t *, int64_t, int, int, uint64_t, int,
                       void *);
void *__kmpc_taskred_init(int, int, void *);
void *__kmpc_task_reduction_get_th_data(int, void *, void *);
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, _Bool, unsigned, void **, int,
               void *);
void GOMP_taskwait(void);
void GOMP_taskloop(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long,
                   int, long, long, long);
void GOMP_taskloop_ull(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned,
                       unsigned long, int, ull, ull, ull);

enum { TIED = 1, SIZES = 24, ADDRESSES = 12, TASKS = 60, MANY = 300 };
static int ran, wrong;
#define COUNT(what) __atomic_fetch_add(&what, 1, __ATOMIC_RELAXED)

/* ---- sizes and alignments ---- */
struct block {
    long size, align;
    unsigned char seed;
};
static void fill(unsigned char *bytes, long from, long size, unsigned char seed)
{
    for (long i = from; i < size; i++)
        bytes[i] = (unsigned char)(seed + i);
}
static int is_filled(const unsigned char *bytes, long from, long size, unsigned char seed)
{
    for (long i = from; i < size; i++)
        if (bytes[i] != (unsigned char)(seed + i))
            return 0;
    return 1;
}
static void sized(void *data)
{
    struct block *b = data;
    if ((uintptr_t)data % (ull)b->align || !is_filled(data, sizeof *b, b->size, b->seed))
        COUNT(wrong);
    COUNT(ran);
}
static void copy(void *to, void *from)
{
    memcpy(to, from, (size_t)((struct block *)from)->size);
}
static long a_size(long least_size)
{
    long near[6] = {least_size, 64, 832, 1024, 65536, 20000};
    long size = near[chance() % 6] + (long)(chance() % 40) - 20;
    return size < least_size ? least_size : size;
}
static void gomp_sizes(void)
{
    static unsigned char data[1 << 17] __attribute__((aligned(4096)));
    for (int i = 0; i < SIZES; i++) {
        struct block b = {a_size(sizeof b), 1L << (3 + chance() % 10), (unsigned char)chance()};
        memcpy(data, &b, sizeof b);
        fill(data, sizeof b, b.size, b.seed);
        GOMP_task(sized, data, chance() % 2 ? copy : 0, b.size, b.align, chance() % 8 != 0, 0, 0, 0, 0);
    }
    GOMP_taskwait();
    CHECK_EQ(ran, SIZES);
}
struct sized_task {
    kmp_task head;
    long size, shareds;
    unsigned char seed;
};
static int kmpc_sized(int thread, kmp_task *task)
{
    (void)thread;
    struct sized_task *t = (struct sized_task *)task;
    unsigned char *shareds = task->shareds;
    if ((uintptr_t)task % 16 || (uintptr_t)shareds % 16 ||
        !is_filled((void *)task, sizeof *t, t->size, t->seed) ||
        (t->shareds && !is_filled(shareds, 0, t->shareds, t->seed)))
        COUNT(wrong);
    COUNT(ran);
    return 0;
}
static void kmpc_sizes(int thread)
{
    for (int i = 0; i < SIZES; i++) {
        long size = a_size(sizeof(struct sized_task)), shareds = chance() % 3 ? a_size(0) : 0;
        struct sized_task *t = (void *)__kmpc_omp_task_alloc(0, thread, (int)(chance() % 2), (size_t)size,
                                                             (size_t)shareds, kmpc_sized);
        t->size = size;
        t->shareds = shareds;
        t->seed = (unsigned char)chance();
        fill((void *)t, sizeof *t, size, t->seed);
        if (shareds)
            fill(t->head.shareds, 0, shareds, t->seed);
        __kmpc_omp_task(0, thread, &t->head);
    }
    __kmpc_omp_taskwait(0, thread);
    CHECK_EQ(ran, SIZES);
}

/* ---- dependences ---- */
/* Tasks so far that write the address; the address is one of `address`. */
static int address[ADDRESSES], writers[ADDRESSES];
struct dependent {
    int count, which[MANY], before[MANY], writes[MANY];
};
static void dependent(struct dependent *d)
{
    for (int i = 0; i < d->count; i++)
        if (__atomic_load_n(&address[d->which[i]], __ATOMIC_RELAXED) != d->before[i])
            COUNT(wrong);
    for (int i = 0; i < d->count; i++)
        if (d->writes[i])
            __atomic_store_n(&address[d->which[i]], d->before[i] + 1, __ATOMIC_RELAXED);
    COUNT(ran);
}
/* A list with repetitions: an address that is named as `in` and as `out` is written. */
static void invent_list(struct dependent *d, int *items, int *is_out, int *count)
{
    int near[5] = {0, 1, 2, 5, MANY};
    *count = near[chance() % 5];
    int written[ADDRESSES] = {0}, named[ADDRESSES] = {0};
    for (int i = 0; i < *count; i++) {
        items[i] = (int)(chance() % ADDRESSES);
        is_out[i] = chance() % 3 == 0;
        named[items[i]] = 1;
        written[items[i]] |= is_out[i];
    }
    d->count = 0;
    for (int a = 0; a < ADDRESSES; a++)
        if (named[a]) {
            d->which[d->count] = a;
            d->before[d->count] = writers[a];
            d->writes[d->count++] = written[a];
            writers[a] += written[a];
        }
}
static int kmpc_dependent(int thread, kmp_task *task)
{
    (void)thread;
    dependent((struct dependent *)(task + 1));
    return 0;
}
static void gomp_dependent(void *data)
{
    dependent(data);
}
static void dependences(int thread)
{
    static struct dependent d;
    static int items[MANY], is_out[MANY];
    int negative[4] = {0, -1, INT_MIN, -7};
    memset(address, 0, sizeof address);
    memset(writers, 0, sizeof writers);
    for (int i = 0; i < TASKS; i++) {
        int count;
        invent_list(&d, items, is_out, &count);
        if (now.type) {
            static struct depend list[MANY];
            for (int k = 0; k < count; k++)
                list[k] = (struct depend){(uintptr_t)&address[items[k]], sizeof(int), is_out[k] ? 3 : 1};
            int none = negative[chance() % 4], at = count ? (int)(chance() % (ull)count) : 0;
            kmp_task *t = __kmpc_omp_task_alloc(0, thread, TIED, sizeof *t + sizeof d, 0, kmpc_dependent);
            memcpy(t + 1, &d, sizeof d);
            if (chance() % 2)
                __kmpc_omp_task_with_deps(0, thread, t, count ? count : none, list, none, 0);
            else
                __kmpc_omp_task_with_deps(0, thread, t, at ? at : none, list, count - at, list + at);
        } else {
            static void *list[MANY + 5];
            int outs = 0, old = chance() % 2;
            for (int k = 0; k < count; k++)
                outs += is_out[k];
            /* The older form has no way to say that there are none: it would begin with a zero. */
            old &= count > 0;
            int from = old ? 2 : 5, out = from, in = from + outs;
            for (int k = 0; k < count; k++)
                list[is_out[k] ? out++ : in++] = &address[items[k]];
            list[0] = (void *)(uintptr_t)(old ? count : 0);
            list[1] = (void *)(uintptr_t)(old ? outs : count);
            if (!old) {
                list[2] = (void *)(uintptr_t)outs;
                list[3] = 0;
                list[4] = (void *)(uintptr_t)(count - outs);
            }
            GOMP_task(gomp_dependent, &d, 0, sizeof d, 8, chance() % 8 != 0, 8, list, 0, 0);
        }
    }
    __kmpc_omp_wait_deps(0, thread, negative[chance() % 4], 0, 0, 0);
    __kmpc_omp_taskwait(0, thread);
    CHECK_EQ(ran, TASKS);
    for (int a = 0; a < ADDRESSES; a++)
        CHECK_EQ(address[a], writers[a]);
}

/* ---- taskloops ---- */
struct loop_task {
    kmp_task head;
    uint64_t lower, upper;
};
static int kmpc_part(int thread, kmp_task *task)
{
    (void)thread;
    struct loop_task *t = (struct loop_task *)task;
    got_range((int64_t)t->lower, (int64_t)t->upper);
    return 0;
}
static void gomp_part(void *data)
{
    long *bounds = data;
    wide one = now.step > 0 ? 1 : -1;
    got_range(bounds[0], (wide)bounds[1] - one);
}
static void gomp_part_ull(void *data)
{
    ull *bounds = data;
    wide one = now.step > 0 ? 1 : -1;
    got_range(bounds[0], (wide)bounds[1] - one);
}
static void taskloop(int thread)
{
    /* No more parts than can be kept: `chunk` is a grain size or so many tasks. */
    int by_grain = now.chunk > 0 && chance() % 2, strict = (int)(chance() % 2);
    uint64_t grain = (uint64_t)(now.chunk < 0 ? 0 : now.chunk), tasks = chance() % 2 ? chance() % 50 : 0;
    wide one = now.step > 0 ? 1 : -1;
    if (now.how == 3) {
        struct loop_task *t = (void *)__kmpc_omp_task_alloc(0, thread, TIED, sizeof *t, 0, kmpc_part);
        t->lower = (uint64_t)now.lower;
        t->upper = (uint64_t)now.upper;
        int undeferred = chance() % 4 == 0;
        if (chance() % 2)
            __kmpc_taskloop_5(0, thread, &t->head, !undeferred, &t->lower, &t->upper, (int64_t)now.step, 0,
                              by_grain ? 1 : 2 * (tasks > 0), by_grain ? grain : tasks, strict, 0);
        else
            __kmpc_taskloop(0, thread, &t->head, !undeferred, &t->lower, &t->upper, (int64_t)now.step, 0,
                            by_grain ? 1 : 2 * (tasks > 0), by_grain ? grain : tasks, 0);
        return;
    }
    unsigned flags = (chance() % 4 ? 1u << 10 : 0) | (by_grain ? 1u << 9 : 0) | (now.step > 0 ? 1u << 8 : 0) |
                     (strict ? 1u << 14 : 0);
    uint64_t data[2] = {0, 0};
    if (now.type == 3)
        GOMP_taskloop_ull(gomp_part_ull, data, 0, sizeof data, 8, flags, by_grain ? grain : tasks, 0,
                          (ull)now.lower, (ull)(now.upper + one), (ull)now.step);
    else
        GOMP_taskloop(gomp_part, data, 0, sizeof data, 8, flags, by_grain ? grain : tasks, 0, (long)now.lower,
                      (long)(now.upper + one), (long)now.step);
}
static int invent_taskloop(void)
{
    now.type = now.how == 3 ? 2 : 2 + (int)(chance() % 2);
    invent_loop();
    count_iterations();
    invent_chunk(0);
    wide one = now.step > 0 ? 1 : -1, size = now.step > 0 ? now.step : -now.step;
    /* gcc adds up in the loop's type: one step beyond the last iteration has to fit (docs/robustness.md). */
    wide beyond = now.lower + (now.trip > 0 ? now.trip : 0) * now.step;
    int fits = now.how == 3 || (beyond >= least[now.type] && beyond <= most[now.type] &&
                                now.upper + one >= least[now.type] && now.upper + one <= most[now.type]);
    return fits && size <= INT64_MAX && now.trip <= UINT64_MAX;
}

/* ---- reductions ---- */
enum { MOST_ITEMS = 40 };
static unsigned char *originals[MOST_ITEMS];
static size_t sizes[MOST_ITEMS];
static int items_now;
static void add_up(void *into, void *from)
{
    /* Both are items of one size: the first word of an original says which. */
    unsigned char *a = into, *b = from;
    int item = -1;
    for (int i = 0; i < items_now; i++)
        if (originals[i] == a)
            item = i;
    if (item < 0) {
        COUNT(wrong);
        return;
    }
    for (size_t k = 0; k < sizes[item]; k++)
        a[k] = (unsigned char)(a[k] + b[k]);
}
static int reduces(int thread, kmp_task *task)
{
    (void)task;
    for (int i = 0; i < items_now; i++) {
        unsigned char *own = __kmpc_task_reduction_get_th_data(__kmpc_global_thread_num(0), 0, originals[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            own[k] = (unsigned char)(own[k] + 1 + (k & 3));
    }
    COUNT(ran);
    return thread & 0;
}
static void reductions(int thread)
{
    struct reduction list[MOST_ITEMS];
    memset(list, 0, sizeof list);
    items_now = 1 + (int)(chance() % MOST_ITEMS);
    for (int i = 0; i < items_now; i++) {
        sizes[i] = (size_t)a_size(1);
        originals[i] = calloc(sizes[i], 1);
        list[i] =
            (struct reduction){originals[i], originals[i], sizes[i], 0, 0, add_up, (unsigned)(chance() % 2)};
    }
    __kmpc_taskgroup(0, thread);
    __kmpc_taskred_init(thread, items_now, list);
    for (int i = 0; i < SIZES; i++)
        __kmpc_omp_task(0, thread, __kmpc_omp_task_alloc(0, thread, TIED, sizeof(kmp_task), 0, reduces));
    __kmpc_end_taskgroup(0, thread);
    CHECK_EQ(ran, SIZES);
    for (int i = 0; i < items_now; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            if (originals[i][k] != (unsigned char)(SIZES * (1 + (k & 3)))) {
                COUNT(wrong);
                break;
            }
        free(originals[i]);
    }
}

/* 0: sizes, 1: dependences, 2: reductions, 3 and 4: taskloops. */
static int invent(void)
{
    now.how = (int)(chance() % 5);
    if (now.how >= 3)
        return invent_taskloop();
    now.type = (int)(chance() % 2);
    now.trip = 0;
    return 1;
}

static void ask_all(void)
{
    ran = wrong = 0;
#pragma omp parallel
#pragma omp single
    {
        int thread = __kmpc_global_thread_num(0);
        if (now.how == 0 && now.type)
            kmpc_sizes(thread);
        else if (now.how == 0)
            gomp_sizes();
        else if (now.how == 1)
            dependences(thread);
        else if (now.how == 2)
            reductions(thread);
        else
            taskloop(thread);
    }
    if (wrong) {
        CHECK_EQ(wrong, 0);
        tell();
    }
}

int main(void)
{
    return by_chance(1000, invent, ask_all);
}
