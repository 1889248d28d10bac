/* Memory at one address on all ranks: layouts, copies to and from whoever has an element, target regions and
 * functions that use it where it is. In spmd mode all ranks do so at the same time. */
#include "device.h"
#include "ompx.h"

enum { COUNT = 100003, SMALL = 40 };

struct work {
    long *x;
    long first, count;
};

static void squares(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct work *w = args;
    CHECK_EQ(bytes, sizeof *w);
    for (long i = w->first; i < w->first + w->count; i++)
        w->x[i] = i * i + (ompx_dist_rank(w->x, i) != ompx_cluster_rank());
    ompx_result_set(result, &w->count, sizeof w->count);
}

/* Each rank writes what it has, by functions; all of it is fetched. */
static void pieces(void)
{
    static long y[COUNT];
    long *x;
    CHECK_EQ(ompx_dist_alloc(COUNT, OMPX_LONG, OMPX_BLOCK, (void **)&x), 0);
    for (long i = 0; i < COUNT;) {
        struct work w = {x, i, 0};
        ompx_future_t done;
        long count;
        int rank = ompx_dist_rank(x, i);
        while (i < COUNT && ompx_dist_rank(x, i) == rank)
            i++, w.count++;
        CHECK_EQ(ompx_invoke(rank, squares, &w, sizeof w, &done), 0);
        CHECK_EQ(ompx_future_get(done, &count, sizeof count), 0);
        CHECK_EQ(count, w.count);
        CHECK_EQ(ompx_future_free(done), 0);
    }
    CHECK_EQ(ompx_dist_get(x, OMPX_OWNER, 0, COUNT, y), 0);
    int wrong = 0;
    for (long i = 0; i < COUNT; i++)
        wrong += y[i] != i * i;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(ompx_dist_get(x, OMPX_OWNER, COUNT - 3, 3, x + COUNT - 3), 0); /* to the same address here */
    CHECK_EQ(x[COUNT - 1], (COUNT - 1L) * (COUNT - 1));
    CHECK_EQ(ompx_dist_free(x), 0);
}

/* Dealt out in turns, small pieces; written from here. */
static void turns(void)
{
    int x[SMALL], y[SMALL], *d, ranks = ompx_count_devices(OMPX_CPU), first;
    CHECK_EQ(ompx_dist_alloc(SMALL, OMPX_INT, 3, (void **)&d), 0);
    first = ompx_dist_rank(d, 0);
    for (int i = 0; i < SMALL; i++) {
        x[i] = 1000 + i;
        CHECK_EQ(ompx_dist_rank(d, i), first + i / 3 % ranks);
    }
    CHECK_EQ(ompx_dist_put(d, OMPX_OWNER, 0, SMALL, x), 0);
    CHECK_EQ(ompx_dist_get(d, OMPX_OWNER, 5, SMALL - 5, y), 0);
    CHECK_EQ(memcmp(x + 5, y, (SMALL - 5) * sizeof *x), 0);
    x[0] = 7;
    CHECK_EQ(ompx_dist_put(d, ompx_cluster_size() - 1, 2, 1, x), 0); /* of a rank that is named */
    CHECK_EQ(ompx_dist_get(d, ompx_cluster_size() - 1, 2, 1, y), 0);
    CHECK_EQ(y[0], 7);
    CHECK_EQ(ompx_dist_free(d), 0);
}

/* Target regions go where the elements are, and find them at the address. */
static void regions(void)
{
    enum { EACH = 50 };
    long *x, y[4 * EACH];
    CHECK_EQ(ompx_dist_alloc(4 * EACH, OMPX_LONG, EACH, (void **)&x), 0);
    for (int b = 0; b < 4; b++) {
#pragma omp target device(ompx_dist_device(x, b *EACH)) is_device_ptr(x) firstprivate(b)
        for (int i = b * EACH; i < (b + 1) * EACH; i++)
            x[i] = 3 * i;
    }
    CHECK_EQ(ompx_dist_get(x, OMPX_OWNER, 0, 4 * EACH, y), 0);
    for (int i = 0; i < 4 * EACH; i++)
        CHECK_EQ(y[i], 3 * i);
    CHECK_EQ(ompx_dist_free(x), 0);
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        pieces();
        turns();
        regions();
    }
    return check_result();
}
