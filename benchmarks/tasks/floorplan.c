/* The smallest rectangle that holds all cells, by branch and bound. A cell has two shapes and is put to the
 * right of or below one that is there. Placing a cell is a task for the first cells. All share the best area
 * so far.
 *
 * How much is searched depends on who finds what first. To keep that small the search begins one above the
 * least area, which the serial search has found. */
#include "programs.h"

enum { CELLS = 9, TASK_CELLS = 5, SHAPES = 2, NONE = 1 << 30 };

static const int sides[CELLS][2] = {{5, 3}, {4, 4}, {6, 2}, {3, 3}, {2, 5}, {4, 3}, {3, 6}, {2, 2}, {5, 4}};

struct rectangle {
    int x, y, width, height;
};

struct plan {
    struct rectangle cells[CELLS];
    int count, width, height;
};

static int best, expected;

static int overlaps(const struct plan *p, struct rectangle r)
{
    for (int i = 0; i < p->count; ++i) {
        const struct rectangle o = p->cells[i];
        if (r.x < o.x + o.width && o.x < r.x + r.width && r.y < o.y + o.height && o.y < r.y + r.height)
            return 1;
    }
    return 0;
}

/* Candidate `which` for the next cell: a shape, a neighbour, and a side of it. Says whether it fits below the
 * bound. */
static int put(const struct plan *p, int which, int bound, struct plan *next)
{
    const int shape = which % SHAPES, side = which / SHAPES % 2, neighbour = which / SHAPES / 2;
    const struct rectangle o = p->cells[neighbour];
    const int width = sides[p->count][shape], height = sides[p->count][1 - shape];
    const struct rectangle r = {side == 0 ? o.x + o.width : o.x, side == 0 ? o.y : o.y + o.height, width,
                                height};
    const int all_width = r.x + width > p->width ? r.x + width : p->width;
    const int all_height = r.y + height > p->height ? r.y + height : p->height;
    if (all_width * all_height >= bound || overlaps(p, r))
        return 0;
    *next = *p;
    next->cells[next->count++] = r;
    next->width = all_width;
    next->height = all_height;
    return 1;
}

static struct plan first(int shape)
{
    struct plan p = {.count = 1, .width = sides[0][shape], .height = sides[0][1 - shape]};
    p.cells[0] = (struct rectangle){0, 0, p.width, p.height};
    return p;
}

static void found(const struct plan *p)
{
    const int area = p->width * p->height;
#pragma omp critical(floorplan)
    if (area < best)
        __atomic_store_n(&best, area, __ATOMIC_RELAXED);
}

static void serially(const struct plan *p)
{
    if (p->count == CELLS) {
        found(p);
        return;
    }
    struct plan next;
    for (int which = 0; which < p->count * 2 * SHAPES; ++which)
        if (put(p, which, __atomic_load_n(&best, __ATOMIC_RELAXED), &next))
            serially(&next);
}

static void search(struct plan p)
{
    if (p.count >= TASK_CELLS) {
        serially(&p);
        return;
    }
    struct plan next;
    for (int which = 0; which < p.count * 2 * SHAPES; ++which) {
        if (put(&p, which, __atomic_load_n(&best, __ATOMIC_RELAXED), &next)) {
#pragma omp task firstprivate(next)
            search(next);
        }
    }
}

static void prepare(void)
{
    if (expected == 0) {
        best = NONE;
        for (int shape = 0; shape < SHAPES; ++shape) {
            const struct plan p = first(shape);
            serially(&p);
        }
        expected = best;
    }
    best = expected + 1;
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    for (int shape = 0; shape < SHAPES; ++shape)
        search(first(shape));
}

static const char *check(void)
{
    return best == expected ? NULL : "not the least area";
}

const struct program floorplan_program = {"floorplan", prepare, solve, check};
