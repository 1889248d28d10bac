// what: a tool hears of devices: constructs, what they map, copies, launches, images; in order, with its own words, with sizes and addresses
// ours: libgomp has no interface for tools; libomptarget tells no maps, and other addresses where memory is given back
// compilers: gcc,clang>=19
// offload: yes
// devices: 0,1,2
// threads: 1,4
// flags: gcc -rdynamic
// flags: clang -rdynamic
#define _GNU_SOURCE
#include "device.h"
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdatomic.h>
#include <unistd.h>

enum { N = 100, LARGE = 1000, EVENTS = 64, DEVICES = 8 };

/* What the tool keeps with a construct, by its word. */
struct construct {
    int device, kind;
    const void *code;
    ompt_data_t *task, *target_task;
};

struct event {
    char text[8];
    int end, kind, from_device, to_device, flags;
    void *from, *to;
    size_t bytes;
};

static struct event events[EVENTS];
static struct construct constructs[EVENTS];
static int counted, begun, heard, opened[DEVICES], closed[DEVICES], loaded[DEVICES], wrong_code;
static ompt_id_t op;
static ompt_get_target_info_t get_target_info;
static ompt_get_num_devices_t get_num_devices;
static ompt_get_task_info_t get_task_info;
static ompt_get_unique_id_t get_unique_id;

static struct event *event(const char *letter, int end)
{
    struct event *this = &events[counted++ % EVENTS];
    memset(this, 0, sizeof *this);
    snprintf(this->text, sizeof this->text, "%s%s", letter,
             end == ompt_scope_begin ? "["
             : end == ompt_scope_end ? "]"
                                     : "");
    this->end = end;
    return this;
}

/* What has been told since the last call: exactly this? Letters: T and a number for constructs, m for maps, A
 * > < D for operations, S for launches. */
static void told(const char *want, int line)
{
    char got[EVENTS * 8] = "";
    for (int i = 0; i < counted && i < EVENTS; i++)
        strcat(strcat(got, i ? " " : ""), events[i].text);
    check_report(strcmp(got, want) == 0, __FILE__, line, "order of events", counted, -1);
    if (strcmp(got, want) != 0)
        fprintf(stderr, "wanted %s\n   got %s\n", want, got);
    counted = 0;
}
#define TOLD(want) told(want, __LINE__)

static void see_code(const void *code)
{
    Dl_info info, own;
    wrong_code += !dladdr(code, &info) || !dladdr((void *)see_code, &own) || info.dli_fbase != own.dli_fbase;
}

/* What a tool is told when it asks for the construct that it is told of. */
static void see_info(const struct construct *construct, ompt_id_t wanted)
{
    uint64_t device = 99;
    ompt_id_t target = 0, host_op = 99;
    CHECK_EQ(get_target_info(&device, &target, &host_op), 1);
    CHECK_EQ(device, construct->device);
    CHECK(target == (ompt_id_t)(uintptr_t)construct);
    CHECK_EQ(host_op, wanted);
}

static void target(ompt_target_t kind, ompt_scope_endpoint_t end, int device, ompt_data_t *task,
                   ompt_data_t *target_task, ompt_data_t *word, const void *code)
{
    char letter[4];
    heard++;
    snprintf(letter, sizeof letter, "T%d", kind);
    event(letter, end);
    see_code(code);
    CHECK(task && task->value);
    CHECK((kind > ompt_target_update) == (target_task != NULL));
    if (end == ompt_scope_begin) {
        CHECK(!word->ptr);
        word->ptr = &constructs[begun++ % EVENTS];
        *(struct construct *)word->ptr = (struct construct){device, kind, code, task, target_task};
    }
    struct construct *construct = word->ptr;
    CHECK(construct && construct->device == device && construct->kind == (int)kind &&
          construct->code == code);
    CHECK(construct->task == task && construct->target_task == target_task);
    CHECK(device == omp_get_initial_device() || opened[device] == 1);
    see_info(construct, 0);
}

static void data_op(ompt_scope_endpoint_t end, ompt_data_t *target_task, ompt_data_t *word,
                    ompt_id_t *host_op, ompt_target_data_op_t kind, void *from, int from_device, void *to,
                    int to_device, size_t bytes, const void *code)
{
    static const char *const letters[] = {"?", "A", ">", "<", "D", "+", "-"};
    struct event *this = event(letters[kind < 7 ? kind : 0], end);
    *this = (struct event){.end = end,
                           .kind = kind,
                           .from = from,
                           .from_device = from_device,
                           .to = to,
                           .to_device = to_device,
                           .bytes = bytes};
    snprintf(this->text, sizeof this->text, "%s%s", letters[kind < 7 ? kind : 0],
             end == 1   ? "["
             : end == 2 ? "]"
                        : "");
    see_code(code);
    if (end != ompt_scope_end) {
        CHECK_EQ(*host_op, 0);
        *host_op = ++op;
    }
    CHECK_EQ(*host_op, op);
    struct construct *construct = word->ptr;
    if (construct) {
        CHECK(construct->target_task == target_task && construct->code == code);
        see_info(construct, op);
    } else {
        CHECK(!target_task);
    }
}

static void submit(ompt_scope_endpoint_t end, ompt_data_t *word, ompt_id_t *host_op, unsigned teams)
{
    event("S", end)->bytes = teams;
    if (end == ompt_scope_begin) {
        CHECK_EQ(*host_op, 0);
        *host_op = ++op;
    }
    CHECK_EQ(*host_op, op);
    see_info(word->ptr, op);
}

static void maps(ompt_data_t *word, unsigned count, void **host, void **device, size_t *bytes,
                 unsigned *flags, const void *code)
{
    struct event *this = event("m", 0);
    struct construct *construct = word->ptr;
    CHECK(construct && construct->code == code);
    CHECK(count > 0);
    /* The first that is no pointer of a compiler's. */
    unsigned at = 0;
    while (at + 1 < count && bytes[at] <= sizeof(void *))
        at++;
    this->from = host[at], this->to = device[at], this->bytes = bytes[at], this->flags = flags[at];
}

static void device_initialize(int device, const char *type, ompt_device_t *object,
                              ompt_function_lookup_t lookup, const char *documentation)
{
    (void)documentation;
    CHECK(device >= 0 && device < DEVICES && type && *type && object);
    CHECK(!lookup); /* no traces of devices */
    opened[device]++;
}

static void device_finalize(int device)
{
    CHECK(opened[device] == 1);
    closed[device]++;
}

static void device_load(int device, const char *file, int64_t offset, void *vma, size_t bytes, void *host,
                        void *there, uint64_t module)
{
    (void)offset, (void)vma, (void)there;
    CHECK(opened[device] == 1 && !file && bytes > 0 && host && module);
    loaded[device]++;
}

static void device_unload(int device, uint64_t module)
{
    (void)module;
    CHECK(opened[device] == 1 && !closed[device]);
}

static void implicit_task(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned actual, unsigned index, int flags)
{
    (void)parallel, (void)actual, (void)index, (void)flags;
    if (end == ompt_scope_begin)
        task->value = get_unique_id();
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                        int depends, const void *code)
{
    (void)task, (void)frame, (void)depends, (void)code;
    made->value = flags & ompt_task_target ? get_unique_id() : 0;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_target_info = (ompt_get_target_info_t)lookup("ompt_get_target_info");
    get_num_devices = (ompt_get_num_devices_t)lookup("ompt_get_num_devices");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    get_unique_id = (ompt_get_unique_id_t)lookup("ompt_get_unique_id");
    CHECK_EQ(device, get_num_devices());
#define SET(name, function) CHECK_EQ(set(ompt_callback_##name, (ompt_callback_t)function), ompt_set_always)
    SET(target_emi, target);
    SET(target_data_op_emi, data_op);
    SET(target_submit_emi, submit);
    SET(target_map_emi, maps);
    SET(device_initialize, device_initialize);
    SET(device_finalize, device_finalize);
    SET(device_load, device_load);
    SET(device_unload, device_unload);
    SET(implicit_task, implicit_task);
    SET(task_create, task_create);
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    (void)tool;
    int devices = get_num_devices();
    if (!heard)
        return; /* a rank that serves, where somebody runs this on ranks */
    for (int device = 0; device < DEVICES; device++) {
        CHECK_EQ(opened[device], device < devices);
        CHECK_EQ(closed[device], device < devices);
#ifdef __clang__
        CHECK_EQ(loaded[device], device < devices);
#else
        CHECK_EQ(loaded[device], 0);
#endif
    }
    CHECK_EQ(wrong_code, 0);
    if (check_result())
        _exit(1);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

/* Events `at` and the next: the begin and the end of this operation on this storage, of which the copy is at
 * `copy`. */
static void op_was(int at, int kind, int device, void *host, void *copy, size_t bytes, int line)
{
    struct event *begin = &events[at], *end = &events[at + 1];
    int back = kind == ompt_target_data_transfer_from_device, number = omp_get_initial_device();
    void *there = kind == ompt_target_data_alloc ? NULL : copy;
    check_report(begin->kind == kind && end->kind == kind, __FILE__, line, "operation", begin->kind, kind);
    check_report(begin->bytes == bytes && end->bytes == bytes, __FILE__, line, "bytes", begin->bytes, bytes);
    check_report(end->from_device == (back ? device : number) && end->to_device == (back ? number : device),
                 __FILE__, line, "devices", end->from_device, number);
    check_report((back ? begin->to : begin->from) == host && (back ? end->to : end->from) == host, __FILE__,
                 line, "host's address", 0, 1);
    check_report((back ? begin->from : begin->to) == there && (back ? end->from : end->to) == copy, __FILE__,
                 line, "device's address", 0, 1);
}
#define OP_WAS(at, kind, device, host, copy, bytes) \
    op_was(at, ompt_target_data_##kind, device, host, copy, bytes, __LINE__)

/* A region with an array: `bytes` of it are small enough to come back with the answer, or not. */
static void region(int device, int n)
{
    int a[LARGE];
    for (int i = 0; i < LARGE; i++)
        a[i] = i;
    size_t bytes = n * sizeof a[0];
    counted = 0;
#pragma omp target device(device) map(tofrom : a[0 : n])
    for (int i = 0; i < n; i++)
        a[i] += 5;
    for (int i = 0; i < LARGE; i++)
        CHECK_EQ(a[i], i + (i < n ? 5 : 0));
    if (!is_apart(device)) {
#ifdef __clang__
        TOLD(""); /* the program's own code, which calls nothing */
#else
        TOLD("T1[ T1]");
#endif
        return;
    }
    void *copy = events[3].to;
    CHECK(copy && copy != a);
    CHECK(events[1].from == a && !events[1].to && events[1].bytes == bytes);
    CHECK_EQ(events[1].flags & ~ompt_target_map_flag_implicit,
             ompt_target_map_flag_to | ompt_target_map_flag_from);
    OP_WAS(2, alloc, device, a, copy, bytes);
    OP_WAS(4, transfer_to_device, device, a, copy, bytes);
    CHECK_EQ(events[6].bytes, 1);
    OP_WAS(8, transfer_from_device, device, a, copy, bytes);
    OP_WAS(10, delete, device, a, copy, bytes);
    TOLD("T1[ m A[ A] >[ >] S[ S] <[ <] D[ D] T1]");
}

static void teams(int device)
{
    int sum = 0;
    counted = 0;
#pragma omp target teams device(device) num_teams(3) map(tofrom : sum)
#pragma omp parallel num_threads(1)
#pragma omp atomic
    sum++;
    CHECK(sum >= 1 && sum <= 3);
    if (is_apart(device)) {
        CHECK_EQ(events[6].bytes, 3);
        TOLD("T1[ m A[ A] >[ >] S[ S] <[ <] D[ D] T1]");
    }
    counted = 0;
}

static void data(int device)
{
    int a[N] = {1, 2, 3};
    counted = 0;
#pragma omp target enter data device(device) map(to : a)
    void *copy = is_apart(device) ? events[3].to : NULL;
    if (is_apart(device)) {
        CHECK_EQ(events[1].flags & ~ompt_target_map_flag_implicit, ompt_target_map_flag_to);
        OP_WAS(2, alloc, device, a, copy, sizeof a);
        OP_WAS(4, transfer_to_device, device, a, copy, sizeof a);
    }
    TOLD(is_apart(device) ? "T2[ m A[ A] >[ >] T2]" : "T2[ T2]");
#pragma omp target update device(device) from(a)
    if (is_apart(device))
        OP_WAS(1, transfer_from_device, device, a, copy, sizeof a);
    TOLD(is_apart(device) ? "T4[ <[ <] T4]" : "T4[ T4]");
#pragma omp target data device(device) map(alloc : a)
    {
        if (is_apart(device)) {
            CHECK_EQ(events[1].flags & ~ompt_target_map_flag_implicit, ompt_target_map_flag_alloc);
            CHECK(events[1].to == copy);
        }
        TOLD(is_apart(device) ? "T2[ m T2]" : "T2[ T2]");
    }
    TOLD(is_apart(device) ? "T3[ m T3]" : "T3[ T3]");
#pragma omp target exit data device(device) map(release : a)
    if (is_apart(device)) {
        CHECK_EQ(events[1].flags & ~ompt_target_map_flag_implicit, ompt_target_map_flag_release);
        OP_WAS(2, delete, device, a, copy, sizeof a);
    }
    TOLD(is_apart(device) ? "T3[ m D[ D] T3]" : "T3[ T3]");
}

/* Target tasks: another kind of construct, with the word that their creation was told with. */
static void nowait(int device)
{
    int a[N] = {0};
    counted = 0, begun = 0;
#pragma omp target device(device) map(tofrom : a) nowait depend(out : a)
    a[1] = 7;
#pragma omp taskwait
    CHECK_EQ(a[1], 7);
    if (is_apart(device)) {
        CHECK(constructs[0].target_task && constructs[0].target_task->value &&
              constructs[0].task != constructs[0].target_task);
        TOLD("T9[ m A[ A] >[ >] S[ S] <[ <] D[ D] T9]");
    }
#ifndef __clang__
    else
        TOLD("T9[ T9]");
#endif
    counted = 0;
}

static void routines(int device)
{
    if (!is_apart(device))
        return;
    int a[N] = {0}, host = omp_get_initial_device();
    counted = 0;
    void *there = omp_target_alloc(sizeof a, device);
    OP_WAS(0, alloc, device, NULL, there, sizeof a);
    TOLD("A[ A]");
    omp_target_memcpy(there, a, 40, 0, 8, device, host);
    OP_WAS(0, transfer_to_device, device, (char *)a + 8, there, 40);
    TOLD(">[ >]");
    omp_target_memcpy(a, there, 40, 0, 8, host, device);
    OP_WAS(0, transfer_from_device, device, a, (char *)there + 8, 40);
    TOLD("<[ <]");
    omp_target_associate_ptr(a, there, sizeof a, 0, device);
    CHECK(events[0].from == a && events[0].to == there && events[0].bytes == sizeof a &&
          events[0].end == ompt_scope_beginend);
    TOLD("+");
    omp_target_disassociate_ptr(a, device);
    CHECK(events[0].from == a && events[0].to == there);
    TOLD("-");
    omp_target_free(there, device);
    CHECK(events[0].to == there && events[1].to == there);
    TOLD("D[ D]");
}

#ifndef __clang__
/* gcc's regions are functions of the program: in them the thread is in a target region, and one of a team of
 * it, too. */
static void inside(int device)
{
    int found = 0, deeper = 0;
#pragma omp target device(device) map(tofrom : found, deeper)
    {
        uint64_t number = 99;
        found = get_target_info(&number, NULL, NULL) == 1 && number == (uint64_t)device;
#pragma omp parallel num_threads(2) reduction(+ : deeper)
        deeper += get_target_info(&number, NULL, NULL);
    }
    CHECK_EQ(found, 1);
    CHECK_EQ(deeper, 2);
    counted = 0;
}
#endif

int main(void)
{
    omp_set_dynamic(0);
    CHECK_EQ(get_target_info ? get_target_info(NULL, NULL, NULL) : 0, 0);
    EACH_DEVICE(device)
    {
        region(device, N);
        region(device, LARGE);
        teams(device);
        data(device);
        nowait(device);
        routines(device);
#ifndef __clang__
        if (getenv("GANGWAY_HOST_DEVICES")) /* another rank has its functions elsewhere */
            inside(device);
#endif
    }
    CHECK_EQ(get_target_info(NULL, NULL, NULL), 0);
    return check_result();
}
