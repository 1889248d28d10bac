// what: blocks of a coherent array that accesses name are on the GPU or on the host, wherever a version of a task runs
// compilers: clang>=19
// offload: yes
// devices: 1,2
// only-gpu: elsewhere there is only one version to run
// threads: 1,4
// mode: preload
// ours: ompx_task_versions
#include "versions.h"
#pragma weak ompx_array_create
#pragma weak ompx_array_destroy
#pragma weak ompx_array_host
#pragma weak ompx_array_pointer
enum { BLOCKS = 3, N = 500, LINKS = 60 };

struct step {
    long *to, *from; /* on the host; where they are used in `queued` */
    struct step *queued;
    long by;
};

static void step(void *args)
{
    const struct step *s = args;
    for (int i = 0; i < N; i++)
        s->to[i] = s->to[i] * 3 + s->from[i] + s->by;
}

static int on_host(int device, void *stream, const void *args)
{
    (void)device, (void)stream;
    step((void *)args);
    return 0;
}

/* Memory of the driver's devices is this process's, so a call in the stream's order stands for a kernel. */
static int on_gpu(int device, void *stream, const void *args)
{
    struct step s = *(const struct step *)args;
    s.to = ompx_array_pointer(s.to, device);
    s.from = ompx_array_pointer(s.from, device);
    CHECK(s.to && s.from && s.to != ((const struct step *)args)->to);
    *s.queued = s;
    return put_call(stream, step, s.queued);
}

static void chains(int turn)
{
    long *a = ompx_array_create(NULL, BLOCKS * N * sizeof *a, N * sizeof *a), model[BLOCKS][N];
    struct step *queued = calloc(LINKS, sizeof *queued);
    ompx_versions_t versions = {sizeof versions, on_host, on_gpu, NULL};
    CHECK(a && ompx_array_host(a, BLOCKS * N * sizeof *a, OMPX_INOUT) == 0);
    for (int i = 0; i < BLOCKS * N; i++)
        a[i] = model[i / N][i % N] = i;
    for (int link = 0; link < LINKS; link++) {
        int to = link % BLOCKS, from = (link + 1) % BLOCKS;
        struct step s = {a + to * N, a + from * N, queued + link, link};
        ompx_access_t accesses[] = {{s.to, OMPX_INOUT}, {s.from, OMPX_IN}};
        int device = (link + turn) % 3 == 0   ? omp_get_initial_device()
                     : (link + turn) % 3 == 1 ? ompx_device_any_gpu()
                                              : ompx_device_any();
        CHECK_EQ(ompx_task_versions(device, &versions, &s, sizeof s, accesses, 2, NULL), 0);
        struct step check = {model[to], model[from], NULL, link};
        step(&check);
    }
#pragma omp taskwait
    CHECK_EQ(ompx_array_host(a, BLOCKS * N * sizeof *a, OMPX_IN), 0);
    CHECK(memcmp(a, model, sizeof model) == 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
    free(queued);
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int turn = 0; turn < 6; turn++)
        chains(turn);
    return check_result();
}
