// what: a tool with the older callbacks of devices: each event once, with numbers instead of words; images and devices are told to nobody who does not ask
// ours: libgomp has no interface for tools; libomptarget tells operations where they begin
// compilers: gcc,clang>=19
// offload: yes
// devices: 1
// threads: 2
// flags: gcc -rdynamic
// flags: clang -rdynamic
#include "device.h"
#include <omp-tools.h>
#include <unistd.h>

enum { N = 50 };
static char seen[256];
static ompt_id_t construct, last_op;
static void *host, *copy;
static ompt_get_target_info_t get_target_info;

static void add(const char *text)
{
    strncat(strncat(seen, seen[0] ? " " : "", 2), text, 8);
}

static void target(ompt_target_t kind, ompt_scope_endpoint_t end, int device, ompt_data_t *task, ompt_id_t id,
                   const void *code)
{
    CHECK(kind == ompt_target && device == 0 && task && id && code);
    add(end == ompt_scope_begin ? "T[" : "T]");
    CHECK(end == ompt_scope_begin ? id != construct : id == construct);
    construct = id;
    uint64_t number;
    ompt_id_t asked, op;
    CHECK(get_target_info(&number, &asked, &op) == 1 && number == 0 && asked == id && op == 0);
}

static void data_op(ompt_id_t id, ompt_id_t op, ompt_target_data_op_t kind, void *from, int from_device,
                    void *to, int to_device, size_t bytes, const void *code)
{
    static const char *const letters[] = {"?", "A", ">", "<", "D"};
    int back = kind == ompt_target_data_transfer_from_device, number = omp_get_initial_device();
    add(letters[kind < 5 ? kind : 0]);
    CHECK(id == construct && op && op != last_op && code);
    last_op = op;
    if (kind == ompt_target_data_alloc)
        copy = to;
    CHECK(bytes == N * sizeof(int));
    CHECK((back ? to : from) == host && (back ? from : to) == copy && copy);
    CHECK(from_device == (back ? 0 : number) && to_device == (back ? number : 0));
}

static void submit(ompt_id_t id, ompt_id_t op, unsigned teams)
{
    add("S");
    CHECK(id == construct && op && op != last_op && teams == 1);
    last_op = op;
}

static void maps(ompt_id_t id, unsigned count, void **hosts, void **devices, size_t *bytes, unsigned *flags,
                 const void *code)
{
    add("m");
    CHECK(id == construct && count == 1 && hosts[0] == host && !devices[0] && bytes[0] == N * sizeof(int) &&
          flags[0] && code);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    (void)device, (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_target_info = (ompt_get_target_info_t)lookup("ompt_get_target_info");
    CHECK_EQ(set(ompt_callback_target, (ompt_callback_t)target), ompt_set_always);
    CHECK_EQ(set(ompt_callback_target_data_op, (ompt_callback_t)data_op), ompt_set_always);
    CHECK_EQ(set(ompt_callback_target_submit, (ompt_callback_t)submit), ompt_set_always);
    CHECK_EQ(set(ompt_callback_target_map, (ompt_callback_t)maps), ompt_set_always);
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    (void)tool;
    if (check_result())
        _exit(1);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

int main(void)
{
    int a[N] = {0};
    host = a;
    for (int round = 0; round < 3; round++) {
        seen[0] = 0;
#pragma omp target device(0) map(tofrom : a)
        a[round] = 7;
        CHECK_EQ(a[round], 7);
        if (strcmp(seen, "T[ m A > S < D T]") != 0)
            fprintf(stderr, "told: %s\n", seen);
        CHECK(strcmp(seen, "T[ m A > S < D T]") == 0);
    }
    return check_result();
}
