/* What regions leave on their ranks for the next ones (OMPX_COHERENCE): the same answers as without, and
 * fewer bytes. */
#include "coherence.h"
#include "ompx.h"

enum { CHAINS = 6, STEPS = 10, BYTES = 100000 };

static ompx_counters_t now(void)
{
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    return counters;
}

/* Chains of regions, each of which changes its block; with a task of the host in the middle. Bytes that this
 * rank has sent and fetched. */
static void chains(int host, uint64_t moved[2])
{
    char *blocks = calloc(CHAINS, BYTES);
    ompx_counters_t before = now();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < STEPS; step++)
        for (int c = 0; c < CHAINS; c++) {
            char *block = blocks + c * BYTES;
            if (host && step == STEPS / 2) {
#pragma omp task depend(inout : block[0])
                for (int i = 0; i < BYTES; i++)
                    block[i] += 3;
            }
#pragma omp target nowait device(ompx_device_any()) depend(inout : block[0]) map(tofrom : block[0 : BYTES])
            for (int i = 0; i < BYTES; i++)
                block[i] += 1;
        }
    ompx_counters_t after = now();
    int wrong = 0;
    for (int i = 0; i < CHAINS * BYTES; i++)
        wrong += blocks[i] != STEPS + (host ? 3 : 0);
    CHECK_EQ(wrong, 0);
    free(blocks);
    moved[0] = after.bytes_sent - before.bytes_sent;
    moved[1] = after.bytes_fetched - before.bytes_fetched;
}

static void fewer_bytes(int on, int limited)
{
    const uint64_t all = (uint64_t)CHAINS * BYTES;
    uint64_t moved[2];
    chains(0, moved);
    if (omp_get_num_devices() == 0)
        return;
    CHECK(moved[0] >= all && moved[1] >= all);
    if (!on) {
        CHECK_EQ(moved[0], STEPS * all);
        CHECK_EQ(moved[1], STEPS * all);
    } else if (
        !limited &&
        ompx_cluster_size() >
            1) { /* gcc: once there, once back. clang: and when a region's code is met for the first time */
        CHECK(moved[0] <= 2 * all);
        CHECK(moved[1] <= 2 * all);
        CHECK(now().bytes_not_fetched > 0);
        chains(0, moved);
        CHECK_EQ(moved[0], all);
        CHECK_EQ(moved[1], all);
    }
    chains(1, moved);
    if (on && !limited)
        CHECK(moved[0] < STEPS * all && moved[1] < STEPS * all);
}

/* Regions on all ranks read one large block, which goes there from wherever it is. With `expects_turns`
   (three ranks without shared memory) the copies take their time, and the third rank has it from the first,
   unless it comes so late that the host is free again, as on a busy machine: then larger blocks, whose copies
   take longer, are tried for a while. */
static void one_block(int expects_turns)
{
    enum { LARGE = 8 << 20, LARGEST = 64 << 20, READERS = 24, ROUNDS = 4, EACH = 10, SECONDS = 20 };
    unsigned char *block = malloc(LARGEST);
    double begin = omp_get_wtime();
    int large = LARGE;
    for (int round = 0; round < ROUNDS || (expects_turns && omp_get_wtime() - begin < SECONDS); round++) {
        if (round > 0 && round % EACH == 0 && large < LARGEST)
            large *= 2;
        long sums[READERS] = {0}, sum = 0;
        for (int i = 0; i < large; i++)
            sum += block[i] = (unsigned char)(i * (7 + round) >> 5);
        uint64_t before = now().bytes_sent;
#pragma omp parallel
#pragma omp single
        for (int r = 0; r < READERS; r++) {
            long *mine = sums + r;
#pragma omp target nowait device(ompx_device_any()) map(to : block[0 : large]) map(from : mine[0])
            {
                mine[0] = 0;
                for (int i = 0; i < large; i++)
                    mine[0] += block[i];
            }
        }
        for (int r = 0; r < READERS; r++)
            CHECK_EQ(sums[r], sum);
        if (round > 0 && now().bytes_sent - before <= 2 * (uint64_t)large + 4096)
            expects_turns = 0; /* as it was to be seen */
    }
    CHECK(!expects_turns);
    free(block);
}

/* Whether it is on can be changed, also while regions run. */
static void changed(void)
{
    int before = ompx_set_coherence(0);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(ompx_set_coherence(i % 2), i > 0 && i % 2 == 0);
        program(100 + i, 20);
    }
    ompx_set_coherence(before);
}

int main(int argc, char **argv)
{
    const char *set = getenv("OMPX_COHERENCE"), *size = argc > 1 ? argv[1] : "";
    int on = set && strcmp(set, "off") != 0, limited = size[0] != 0;
    is_fixed_ours = omp_get_num_devices() < ompx_cluster_size(); /* head mode */
    if (strcmp(size, "turns") == 0) { /* depends on the machine's load: a run of its own */
        CHECK_EQ(omp_get_num_devices(), 3);
        one_block(1);
        return check_result();
    }
    fewer_bytes(on, limited);
    if (strcmp(size, "memory") != 0) /* no rank has room for it */
        one_block(0);
    programs(18, 60);
    by_threads(8);
    data = malloc(TILES * sizeof(tile_t));
    room = malloc(2 * sizeof(tile_t));
    memcpy(data, model, sizeof model);
    changed();
    look("after changes");
    return check_result();
}
