// what: loop nests that the library takes apart: rectangular ones by number, triangular ones by first and last point per thread
// ours: gcc's runtime has none of it
// mode: link
#include "check.h"

typedef struct {
    int type, variable, comparison, outer;
    long long lb0, lb1, ub0, ub1, step;
    unsigned long long trips;
} bounds_t;
unsigned long long __kmpc_process_loop_nest_rectang(void *, int, bounds_t *, int);
void __kmpc_calc_original_ivs_rectang(void *, unsigned long long, const bounds_t *, unsigned long long *,
                                      int);
int __kmpc_for_collapsed_init(void *, int, bounds_t *, bounds_t *, int, int *);
int __kmpc_global_thread_num(void *);

enum { at_most, at_least, not_equal, less, greater, i32 = 5, i64 = 7, size = 64 };

static int hits[size][size];

static void hit(long i, long j)
{
    CHECK(i >= -size / 2 && i < size / 2 && j >= -size / 2 && j < size / 2);
    __atomic_fetch_add(&hits[i + size / 2][j + size / 2], 1, __ATOMIC_SEQ_CST);
}

static void rectangle(void)
{
    bounds_t nest[3] = {{i32, i32, less, 0, -2, 0, 7, 0, 2, 0},
                        {i64, i64, at_least, 0, 5, 0, -6, 0, -3, 0},
                        {i32, i32, not_equal, 0, 0, 0, 4, 0, 1, 0}};
    unsigned long long n = 0, ivs[3], total = __kmpc_process_loop_nest_rectang(0, 0, nest, 3);
    CHECK_EQ(total, 5 * 4 * 4);
    for (int i = -2; i < 7; i += 2)
        for (long long j = 5; j >= -6; j -= 3)
            for (int k = 0; k != 4; k++) {
                __kmpc_calc_original_ivs_rectang(0, n++, nest, ivs, 3);
                CHECK((int)ivs[0] == i && (long long)ivs[1] == j && (int)ivs[2] == k);
            }
    CHECK_EQ(n, total);
}

/* for (i = -7; i < 9; i += 3) for (j = i - 2; j <= 2 * i + 12; j += 2), each thread from its first point to
 * its last. */
static void triangle(void)
{
    int lasts = 0, wanted = 0, chunks = 0;
    memset(hits, 0, sizeof hits);
#pragma omp parallel reduction(+ : lasts, chunks)
    {
        bounds_t nest[2] = {{i32, i32, less, 0, -7, 0, 9, 0, 3, 0},
                            {i32, i32, at_most, 0, -2, 1, 12, 2, 2, 0}},
                 mine[2];
        int last = 9, any = __kmpc_for_collapsed_init(0, __kmpc_global_thread_num(0), nest, mine, 2, &last);
        chunks += any != 0;
        if (any) {
            int i = (int)mine[0].lb0, j = (int)mine[1].lb0;
            lasts += last != 0;
            for (;;) {
                hit(i, j);
                if (i == (int)mine[0].ub0 && j == (int)mine[1].ub0)
                    break;
                for (j += 2; j > 2 * i + 12; j = i - 2)
                    i += 3;
            }
        }
    }
    CHECK_EQ(lasts, 1);
    CHECK(chunks >= 1 && chunks <= omp_get_max_threads());
    for (int i = -7; i < 9; i += 3)
        for (int j = i - 2; j <= 2 * i + 12; j += 2, wanted++)
            CHECK_EQ(hits[i + size / 2][j + size / 2], 1);
    for (int i = 0; i < size * size; i++)
        wanted -= hits[i / size][i % size];
    CHECK_EQ(wanted, 0);
}

int main(void)
{
    rectangle();
    triangle();
    return check_result();
}
