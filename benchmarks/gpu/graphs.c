/* Graphs of tasks on all GPUs: where the runtime puts them, where the program puts them, and by chance.
 *
 *   graphs [--check] [--rounds R] [NAME]
 *
 * Every region has device(ompx_device_any()); what differs is the policy: `least`, which is automatic
 * mapping; one that does what the program says (policy.c, whose file GPU_BENCH_POLICY names), which is each
 * of the other mappings. With OMPX_COHERENCE=on data stay on the GPUs from region to region and are back on
 * the host at the end, which is part of the time. The mappings take turns round by round. Every round's
 * answer is compared with the host's. */
#include "graphs.h"
#include "policy.h"

enum mapping { AUTOMATIC, FIXED, ONE, CHANCE, MAPPINGS };
static const char *const mapping_names[] = {"automatic", "fixed", "one GPU", "by chance"};
static const struct graph *const graphs[] = {&independent_graph, &serial_graph,   &reduction_graph,
                                             &product_graph,     &cholesky_graph, &jacobi_graph,
                                             &nbody_graph,       &blr_graph};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static struct wishes *wishes;
static enum mapping mapping;
static int gpu_count;
static unsigned long seed;
static uint64_t wished[MOST_GPUS]; /* regions for each, which the policy has to be asked for */
static char policy_name[4096];

void *room_for(size_t count, size_t size)
{
    void *made = calloc(count, size);
    MUST(made, "no memory for %zu MB on the host", count * size / 1000000);
    return made;
}

static int placed(int fixed)
{
    uint64_t number = wishes->made;
    MUST(number < MOST_REGIONS, "too many regions");
    int device = mapping == FIXED    ? fixed
                 : mapping == CHANCE ? (int)(mixed(seed + number) % (unsigned)gpu_count)
                                     : 0;
    wishes->of[number] = device;
    __atomic_store_n(&wishes->made, number + 1, __ATOMIC_RELEASE); /* pairs with the policy's load */
    if (mapping != AUTOMATIC)
        wished[device]++;
    return ompx_device_any();
}

int place_in_blocks(long part, long parts)
{
    return placed((int)(part * gpu_count / parts));
}

int place_in_turns(long part)
{
    return placed((int)(part % gpu_count));
}

static double timed(const struct graph *graph)
{
    double took = 0;
    graph->begin();
    int set = ompx_set_sched(mapping == AUTOMATIC ? "least" : policy_name);
    MUST(set == 0, "no policy %s", policy_name);
#pragma omp parallel
#pragma omp single
    {
        double begin = now();
        graph->run();
#pragma omp taskwait
        took = now() - begin;
    }
    graph->check();
    return took;
}

/* The regions went where the program wanted them: the mapping is the one that the table names. */
static void check_policy(const struct graph *graph)
{
    MUST(wishes->unknown == 0, "%s: regions that are not the program's", graph->name);
    for (int d = 0; d < gpu_count; d++)
        MUST(wishes->asked[d] == wished[d], "%s, %s: %lu regions on GPU %d, not %lu", graph->name,
             mapping_names[mapping], (unsigned long)wishes->asked[d], d, (unsigned long)wished[d]);
}

static void run_graph(const struct graph *graph, long rounds, int is_small)
{
    static struct samples samples[MAPPINGS];
    memset(samples, 0, sizeof samples);
    graph->prepare(is_small);
    for (long round = 0; round <= rounds; round++)
        for (int turn = 0; turn < MAPPINGS; turn++) {
            mapping = (enum mapping)((turn + round) % MAPPINGS);
            seed = mixed((unsigned long)round);
            double took = 1e3 * timed(graph);
            check_policy(graph);
            if (round > 0)
                add_sample(&samples[mapping], took);
        }
    printf("| %s ", graph->name);
    for (int m = 0; m < MAPPINGS; m++)
        printf("| %.2f, %.2f ", least(&samples[m]), median(&samples[m]));
    const struct samples *best =
        least(&samples[ONE]) < least(&samples[FIXED]) ? &samples[ONE] : &samples[FIXED];
    printf("| %.3f, %.3f |\n", least(&samples[AUTOMATIC]) / least(best),
           median(&samples[AUTOMATIC]) / median(best));
}

static void find_policy(void)
{
    const char *file = getenv("GPU_BENCH_POLICY");
    MUST(file, "GPU_BENCH_POLICY has to name the policy's file");
    void *policy = dlopen(file, RTLD_NOW);
    MUST(policy, "%s", dlerror());
    wishes = dlsym(policy, "policy_wishes");
    MUST(wishes, "%s has no policy_wishes", file);
    snprintf(policy_name, sizeof policy_name, "library:%s", file);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int is_small = is_check(argc, argv);
    long rounds = option(argc, argv, "--rounds", is_small ? 1 : 7);
    const char *only = argc > 1 && argv[argc - 1][0] != '-' &&
                               (argc < 3 || argv[argc - 2][0] != '-' || !strcmp(argv[argc - 2], "--check"))
                           ? argv[argc - 1]
                           : "";
    MUST(rounds <= MOST_ROUNDS, "at most %d rounds", MOST_ROUNDS);
    gpu_count = gpus();
    MUST(gpu_count <= MOST_GPUS, "at most %d GPUs", MOST_GPUS);
    find_policy();
    printf(
        "%d GPUs; ms, least and median.\n\n| graph | automatic | fixed | one GPU | by chance | automatic to the better of fixed and one GPU |\n|---|---:|---:|---:|---:|---:|\n",
        gpu_count);
    int ran = 0;
    for (int g = 0; g < GRAPHS; g++)
        if (strstr(graphs[g]->name, only)) {
            run_graph(graphs[g], rounds, is_small);
            ran++;
        }
    MUST(ran > 0, "there is no graph %s", only);
    return 0;
}
