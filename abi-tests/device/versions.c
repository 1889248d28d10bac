// what: tasks with a version for the host and one for GPUs give the same answer whichever runs, between ordinary tasks, target regions and tasks of streams
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_task_versions
#include "versions.h"
#pragma weak ompx_cuda_task
enum { N = 400, LINKS = 80, CHAINS = 4 };

struct step {
    long *data;
    const long *add;
    long by;
};
static int on_host, on_gpu, strange;

static void step(void *args)
{
    const struct step *s = args;
    for (int i = 0; i < N; i++)
        s->data[i] = s->data[i] * 3 + s->by + (s->add ? s->add[i] : 0);
}

static int host_step(int device, void *stream, const void *args)
{
    __atomic_fetch_add(&on_host, 1, __ATOMIC_RELAXED);
    if (device != omp_get_initial_device() || stream)
        __atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
    step((void *)args);
    return 0;
}

/* What a GPU would do with the data takes place in the stream's order, and not now. */
static int gpu_step(int device, void *stream, const void *args)
{
    __atomic_fetch_add(&on_gpu, 1, __ATOMIC_RELAXED);
    if (device < 0 || device >= omp_get_num_devices() || !stream)
        __atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
    return put_call(stream, step, args);
}

static int cuda_step(void *stream, const void *args)
{
    return put_call(stream, step, args);
}

static void chains(int device, const size_t *sizes)
{
    long *a = malloc(CHAINS * N * sizeof *a), *model = malloc(CHAINS * N * sizeof *model);
    for (int i = 0; i < CHAINS * N; i++)
        a[i] = model[i] = i;
    ompx_versions_t versions = {sizeof versions, host_step, gpu_step, sizes};
    int futures = 0;
    ompx_future_t future[CHAINS * LINKS];
    for (int link = 0; link < LINKS; link++)
        for (int chain = 0; chain < CHAINS; chain++) {
            long *mine = a + chain * N, *other = a + (chain + 1) % CHAINS * N;
            struct step s = {mine, other, link};
            ompx_access_t accesses[] = {{mine, OMPX_INOUT}, {other, OMPX_IN}};
            switch (link % 5) {
            case 0: /* an ordinary task */
#pragma omp task depend(inout : mine[0]) depend(in : other[0]) firstprivate(s)
                step(&s);
                break;
            case 1: /* a target region */
#pragma omp target nowait depend(inout : mine[0]) depend(in : other[0]) map(tofrom : mine[0 : N]) \
    map(to : other[0 : N]) firstprivate(link)
                for (int i = 0; i < N; i++)
                    mine[i] = mine[i] * 3 + link + other[i];
                break;
            case 2: /* one of a stream */
                if (ompx_cuda_task && has_gpus()) {
                    CHECK_EQ(
                        ompx_cuda_task(ompx_device_any_gpu(), cuda_step, &s, sizeof s, accesses, 2, NULL), 0);
                    break;
                } /* fall through */
            default:
                CHECK_EQ(ompx_task_versions(device, &versions, &s, sizeof s, accesses, 2,
                                            chain ? &future[futures++] : NULL),
                         0);
            }
        }
    for (int i = 0; i < futures; i++)
        CHECK(ompx_future_wait(future[i]) == 0 && ompx_future_free(future[i]) == 0);
#pragma omp taskwait
    for (int link = 0; link < LINKS; link++)
        for (int chain = 0; chain < CHAINS; chain++) {
            struct step s = {model + chain * N, model + (chain + 1) % CHAINS * N, link};
            step(&s);
        }
    CHECK(memcmp(a, model, CHAINS * N * sizeof *a) == 0);
    free(a);
    free(model);
}

/* How many ran where since the last look. */
static void count(int *host, int *gpu)
{
    static int host_before, gpu_before;
    *host = on_host - host_before;
    *gpu = on_gpu - gpu_before;
    host_before = on_host;
    gpu_before = on_gpu;
}

int main(void)
{
    int host, gpu, any = ompx_device_any();
    size_t sizes[] = {N * sizeof(long), N * sizeof(long)};
    chains(any, NULL);
    count(&host, &gpu);
    if (has_gpus()) {
        CHECK(host > 0 && gpu > 0); /* each is tried */
    } else
        CHECK(host > LINKS * CHAINS / 2 && gpu == 0);
#pragma omp parallel
#pragma omp single
    {
        chains(any, NULL);
        chains(any, sizes);
        count(&host, &gpu);
        CHECK(host + gpu > LINKS * CHAINS / 2 && (has_gpus() ? gpu > 0 : gpu == 0));
        chains(ompx_device_any_gpu(), sizes);
        count(&host, &gpu);
        CHECK(has_gpus() ? host == 0 && gpu > 0 : host > 0 && gpu == 0);
        chains(omp_get_initial_device(), NULL);
        count(&host, &gpu);
        CHECK(host > 0 && gpu == 0);
        chains(-1, sizes); /* omp_initial_device */
        count(&host, &gpu);
        CHECK(host > 0 && gpu == 0);
        if (has_gpus())
            for (int device = 0; device < omp_get_num_devices(); device++) {
                chains(device, NULL);
                count(&host, &gpu);
                CHECK(host == 0 && gpu > 0);
            }
    }
    CHECK_EQ(strange, 0);
    return check_result();
}
