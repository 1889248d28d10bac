/* Mobile objects: handlers from all ranks on objects that move meanwhile, readers that wait for each other,
 * objects with pointers inside, long bytes, events that bring objects together, handlers that nobody waits
 * for. With the argument "balance" objects wait on one rank, and others have to get some. */
#include "device.h"
#include "ompx.h"
#include <omp.h>
#include <unistd.h>

enum { OBJECTS = 6, EACH = 150, LONG = 300000, LATE = 20 };

static int ranks, me;

/* An object that notices when somebody else uses it. */
struct account {
    int readers, writers;
    long sum, moves;
    char filling[LONG];
};

static long value_of(ompx_future_t future)
{
    long value = -1;
    CHECK_EQ(ompx_future_get(future, &value, sizeof value), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    return value;
}

static ompx_future_t call(ompx_object_t object, int mode, ompx_object_handler fn, const void *args,
                          size_t bytes)
{
    ompx_future_t future = {0};
    CHECK_EQ(ompx_object_invoke(object, mode, fn, args, bytes, &future), 0);
    return future;
}

static ompx_object_t made(size_t bytes)
{
    ompx_object_t object = {0};
    CHECK_EQ(ompx_object_create(NULL, bytes, &object), 0);
    CHECK(object.rank == ompx_cluster_rank() && object.generation != 0);
    return object;
}

/* Alone, or the check fails. */
static void add(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct account *account = data;
    (void)object;
    CHECK_EQ(__atomic_fetch_add(&account->writers, 1, __ATOMIC_RELAXED), 0);
    CHECK_EQ(__atomic_load_n(&account->readers, __ATOMIC_RELAXED), 0);
    account->sum += *(const long *)args;
    if (bytes > sizeof(long)) /* long ones carry their last byte, too */
        CHECK_EQ(((const char *)args)[bytes - 1], 42);
    __atomic_fetch_sub(&account->writers, 1, __ATOMIC_RELAXED);
    ompx_result_set(result, &account->sum, sizeof account->sum);
}

static void look(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct account *account = data;
    (void)object;
    (void)args;
    (void)bytes;
    __atomic_fetch_add(&account->readers, 1, __ATOMIC_RELAXED);
    CHECK_EQ(__atomic_load_n(&account->writers, __ATOMIC_RELAXED), 0);
    long sum = account->sum;
    __atomic_fetch_sub(&account->readers, 1, __ATOMIC_RELAXED);
    ompx_result_set(result, &sum, sizeof sum);
}

/* The objects of all ranks, once they are known. */
static ompx_object_t all[8][OBJECTS];

static void tell(const void *args, size_t bytes, ompx_result_t *result)
{
    const ompx_object_t *theirs = args;
    (void)result;
    CHECK_EQ(bytes, sizeof all[0]);
    memcpy(all[theirs->rank], theirs, bytes);
}

static void make(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_object_t mine[OBJECTS];
    ompx_future_t notified[8];
    (void)args;
    (void)bytes;
    for (int i = 0; i < OBJECTS; i++)
        mine[i] = made(sizeof(struct account));
    for (int r = 0; r < ompx_cluster_size(); r++)
        CHECK_EQ(ompx_invoke(r, tell, mine, sizeof mine, &notified[r]), 0);
    for (int r = 0; r < ompx_cluster_size(); r++) {
        CHECK_EQ(ompx_future_wait(notified[r]), 0);
        CHECK_EQ(ompx_future_free(notified[r]), 0);
    }
    ompx_result_set(result, NULL, 0);
}

/* Every rank writes, reads and moves every object. */
static void busy(const void *args, size_t bytes, ompx_result_t *result)
{
    enum { CALLS = 8 * OBJECTS * EACH };
    static ompx_future_t futures[CALLS];
    static char longs[LONG / 4];
    int of = ompx_cluster_size(), rank = ompx_cluster_rank(), count = 0;
    long failed, one = 1;
    (void)args;
    (void)bytes;
    memcpy(longs, &one, sizeof one);
    longs[sizeof longs - 1] = 42;
    for (int i = 0; i < EACH; i++)
        for (int r = 0; r < of; r++)
            for (int o = 0; o < OBJECTS; o++) {
                int is_long = (i + o) % 50 == 7;
                ompx_object_t object = all[(r + rank) % of][o];
                futures[count++] = call(object, OMPX_WRITE, add, is_long ? (void *)longs : &one,
                                        is_long ? sizeof longs : sizeof one);
                if (i % 5 == 0)
                    CHECK_EQ(ompx_object_invoke(object, OMPX_READ, look, NULL, 0, NULL), 0);
                if ((i + 7 * o + 3 * rank) % 31 == 0)
                    CHECK_EQ(ompx_object_migrate(object, (i + r + o) % of), 0);
            }
    for (int i = 0; i < count; i++)
        CHECK(value_of(futures[i]) > 0);
    failed = check_failed;
    ompx_result_set(result, &failed, sizeof failed);
}

static void everywhere(ompx_handler fn)
{
    ompx_future_t done[8];
    for (int r = 0; r < ranks; r++)
        CHECK_EQ(ompx_invoke(r, fn, NULL, 0, &done[r]), 0);
    for (int r = 0; r < ranks; r++) {
        long failed = 0;
        size_t size;
        CHECK_EQ(ompx_future_size(done[r], &size), 0);
        if (size)
            CHECK_EQ(ompx_future_get(done[r], &failed, sizeof failed), 0);
        CHECK_EQ(failed, 0);
        CHECK_EQ(ompx_future_free(done[r]), 0);
    }
}

static void moving(void)
{
    everywhere(make);
    everywhere(busy);
    for (int r = 0; r < ranks; r++)
        for (int o = 0; o < OBJECTS; o++) {
            CHECK_EQ(value_of(call(all[r][o], OMPX_READ, look, NULL, 0)), (long)ranks * EACH);
            CHECK_EQ(ompx_object_free(all[r][o]), 0);
        }
}

/* A reader that waits for others, while a writer waits for it. */
static void nested(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    long depth = *(const long *)args, below = depth - 1, value = 1;
    (void)data;
    (void)bytes;
    if (depth > 0) {
        CHECK_EQ(ompx_object_invoke(object, OMPX_WRITE, add, &value, sizeof value, NULL), 0);
        CHECK_EQ(ompx_object_migrate(object, (int)(depth % ompx_cluster_size())), 0);
        ompx_future_t a = call(object, OMPX_READ, nested, &below, sizeof below),
                      b = call(object, OMPX_READ, nested, &below, sizeof below);
        value = value_of(a) + value_of(b);
    }
    ompx_result_set(result, &value, sizeof value);
}

static void readers(void)
{
    ompx_object_t object = made(sizeof(struct account));
    long depth = 6;
    CHECK_EQ(value_of(call(object, OMPX_READ, nested, &depth, sizeof depth)), 64);
    while (value_of(call(object, OMPX_READ, look, NULL, 0)) != 63) /* nobody has waited for the writers */
        usleep(1000);
    CHECK_EQ(ompx_object_free(object), 0);
}

/* A list. */
struct node {
    struct node *next;
    long value;
};
struct list {
    struct node *first;
    long length, moves;
};

static void *pack(const void *object, size_t *bytes)
{
    const struct list *list = object;
    long *packed = malloc((size_t)(list->length + 1) * sizeof *packed), at = 0;
    packed[at++] = list->moves;
    for (const struct node *node = list->first; node; node = node->next)
        packed[at++] = node->value;
    CHECK_EQ(at, list->length + 1);
    *bytes = (size_t)at * sizeof *packed;
    return packed;
}

static void push(struct list *list, long value)
{
    struct node *node = malloc(sizeof *node);
    *node = (struct node){list->first, value};
    list->first = node;
    list->length++;
}

static void *unpack(const void *packed, size_t bytes)
{
    const long *words = packed;
    struct list *list = calloc(1, sizeof *list);
    list->moves = words[0] + 1;
    for (size_t at = bytes / sizeof *words - 1; at > 0; at--)
        push(list, words[at]);
    return list;
}

static int freed;

static void unmake(void *object)
{
    struct list *list = object;
    while (list->first) {
        struct node *first = list->first;
        list->first = first->next;
        free(first);
    }
    free(list);
    __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

static const ompx_object_type_t lists = {pack, unpack, unmake};

static void append(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct list *list = data;
    (void)bytes;
    push(list, *(const long *)args);
    if (list->length % 3 == 0)
        CHECK_EQ(ompx_object_migrate(object, (ompx_cluster_rank() + 1) % ompx_cluster_size()), 0);
    ompx_result_set(result, &list->length, sizeof list->length);
}

static void total(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    const struct list *list = data;
    long sum = 0, moves = list->moves;
    (void)object;
    (void)args;
    (void)bytes;
    for (const struct node *node = list->first; node; node = node->next)
        sum += node->value;
    sum += 1000000 * (ompx_cluster_size() > 1 ? moves > 0 : moves == 0);
    ompx_result_set(result, &sum, sizeof sum);
}

static void typed(void)
{
    ompx_object_t object;
    CHECK_EQ(ompx_object_create_typed(&lists, calloc(1, sizeof(struct list)), &object), 0);
    for (long i = 1; i <= 40; i++)
        CHECK_EQ(value_of(call(object, OMPX_WRITE, append, &i, sizeof i)), i);
    CHECK_EQ(value_of(call(object, OMPX_READ, total, NULL, 0)), 1000000 + 40 * 41 / 2);
    CHECK_EQ(ompx_object_migrate(object, me), 0);
    CHECK_EQ(value_of(call(object, OMPX_READ, total, NULL, 0)), 1000000 + 40 * 41 / 2);
    int before = __atomic_load_n(&freed, __ATOMIC_RELAXED);
    CHECK_EQ(ompx_object_free(object), 0);
    for (int tries = 0; tries < 20000 && __atomic_load_n(&freed, __ATOMIC_RELAXED) == before; tries++)
        usleep(1000);
    CHECK(__atomic_load_n(&freed, __ATOMIC_RELAXED) > before);
}

/* Moves something from the first object to the second, both here and nobody else's. */
static void transfer(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    struct account *from = (struct account *)parts[0].bytes, *to = (struct account *)parts[2].bytes;
    long value = *(const long *)parts[1].bytes;
    CHECK_EQ(count, 4);
    CHECK_EQ(bytes, sizeof(ompx_future_t));
    CHECK_EQ(parts[0].size, sizeof(struct account));
    CHECK(parts[3].bytes == parts[0].bytes);
    CHECK_EQ(from->writers++, 0);
    CHECK_EQ(to->writers++, 0);
    from->sum -= value;
    to->sum += value;
    from->writers--;
    to->writers--;
    CHECK_EQ(ompx_future_set(*(const ompx_future_t *)data, NULL, 0), 0);
}

struct order {
    ompx_object_t from, to;
    ompx_event_t event;
    long value;
};

static void satisfy(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct order *order = args;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_event_satisfy_object(order->event, 2, order->to), 0);
    CHECK_EQ(ompx_event_satisfy(order->event, 1, &order->value, sizeof order->value), 0);
    CHECK_EQ(ompx_event_satisfy_object(order->event, 0, order->from), 0);
    CHECK_EQ(ompx_event_satisfy_object(order->event, OMPX_ANY_SLOT, order->from), 0);
}

static void events(void)
{
    enum { ROUNDS = 12 };
    ompx_object_t pair[2] = {made(sizeof(struct account)), made(sizeof(struct account))};
    ompx_future_t done[ROUNDS];
    CHECK_EQ(ompx_object_migrate(pair[1], (me + 1) % ranks), 0);
    for (int i = 0; i < ROUNDS; i++) { /* to and fro, all at once */
        struct order order = {pair[i % 2], pair[1 - i % 2], {0}, i + 1};
        CHECK_EQ(ompx_future_create(&done[i]), 0);
        CHECK_EQ(ompx_event_create(4, transfer, &done[i], sizeof done[i], &order.event), 0);
        CHECK_EQ(ompx_invoke((me + i) % ranks, satisfy, &order, sizeof order, NULL), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(ompx_future_wait(done[i]), 0);
        CHECK_EQ(ompx_future_free(done[i]), 0);
    }
    CHECK_EQ(value_of(call(pair[0], OMPX_READ, look, NULL, 0)), ROUNDS / 2);
    CHECK_EQ(value_of(call(pair[1], OMPX_READ, look, NULL, 0)), -ROUNDS / 2);
    CHECK_EQ(ompx_object_free(pair[0]), 0);
    CHECK_EQ(ompx_object_free(pair[1]), 0);
}

static int late_notes, late_made;

/* At the very end of the process. */
__attribute__((destructor)) static void all_are_noted(void)
{
    if (late_made && late_notes != LATE) {
        fprintf(stderr, "rank %d: %d of %d late handlers were run before the end\n", ompx_cluster_rank(),
                late_notes, LATE);
        fflush(stderr);
        _exit(1);
    }
}

static void late(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    int hops = *(const int *)args, home = object.rank;
    (void)data;
    (void)bytes;
    (void)result;
    usleep(2000);
    if (hops > 0 || ompx_cluster_rank() != home) { /* where objects are balanced it may be taken away again */
        hops -= hops > 0;
        CHECK_EQ(ompx_object_migrate(object, hops ? (ompx_cluster_rank() + 1) % ompx_cluster_size() : home),
                 0);
        CHECK_EQ(ompx_object_invoke(object, OMPX_WRITE, late, &hops, sizeof hops, NULL), 0);
    } else {
        __atomic_fetch_add(&late_notes, 1, __ATOMIC_RELAXED);
    }
}

static void late_ones(void)
{
    int three = 3;
    late_made = 1;
    for (int i = 0; i < LATE; i++)
        CHECK_EQ(ompx_object_invoke(made(LONG), OMPX_WRITE, late, &three, sizeof three, NULL), 0);
}

/* Takes its time, and says where. */
static void work(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    long here = ompx_cluster_rank();
    (void)object;
    (void)args;
    (void)bytes;
    ++*(long *)data;
    usleep(3000);
    ompx_result_set(result, &here, sizeof here);
}

static void count(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)object;
    (void)args;
    (void)bytes;
    ompx_result_set(result, data, sizeof(long));
}

static void balance(void)
{
    enum { MANY = 40, TIMES = 5 };
    static ompx_future_t futures[MANY * TIMES];
    ompx_object_t objects[MANY];
    long on[8] = {0}, used = 0;
    for (int i = 0; i < MANY; i++)
        objects[i] = made(sizeof(long));
    for (int i = 0; i < MANY * TIMES; i++)
        futures[i] = call(objects[i % MANY], OMPX_WRITE, work, NULL, 0);
    for (int i = 0; i < MANY * TIMES; i++)
        on[value_of(futures[i])]++;
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(value_of(call(objects[i], OMPX_READ, count, NULL, 0)), TIMES);
    for (int r = 0; r < ranks; r++)
        used += on[r] > 0;
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    const char *wanted = getenv("OMPX_BALANCE");
    if (!wanted || strcmp(wanted, "off") == 0) {
        CHECK_EQ(on[me], MANY * TIMES);
        CHECK_EQ(counters.objects_moved, 0);
    } else if (ranks > 1) {
        CHECK(used > 1 && counters.objects_moved > 0);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(ompx_object_free(objects[i]), 0);
}

int main(int argc, char **argv)
{
    me = ompx_cluster_rank();
    ranks = ompx_cluster_size();
    if (argc > 1 && strcmp(argv[1], "balance") == 0) {
        if (me != 0)
            return 0;
        balance();
        return check_result();
    }
    if (me == 0)
        moving();
    readers();
    typed();
    events();
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    CHECK(counters.object_invokes > 0 && (ranks == 1 || counters.objects_moved > 0));
    late_ones();
    return check_result();
}
