/* All ways to place N queens that do not attack each other. A row's candidates are tasks in the first rows.
 */
#include "programs.h"

enum { N = 12, TASK_ROWS = 4 };

static const long expected = 14200;
static long solutions;

/* Columns and diagonals that are attacked in the row to come, one bit each. */
struct board {
    unsigned columns, left, right;
};

static struct board with_queen(struct board b, unsigned queen)
{
    return (struct board){b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1};
}

static long serial(struct board b, int row)
{
    if (row == N)
        return 1;
    long found = 0;
    unsigned free = ~(b.columns | b.left | b.right) & ((1u << N) - 1);
    for (; free != 0; free &= free - 1)
        found += serial(with_queen(b, free & -free), row + 1);
    return found;
}

static long place(struct board b, int row)
{
    if (row >= TASK_ROWS)
        return serial(b, row);
    long found[N] = {0}, sum = 0;
    int at = 0;
    unsigned free = ~(b.columns | b.left | b.right) & ((1u << N) - 1);
    for (; free != 0; free &= free - 1, ++at) {
        const struct board next = with_queen(b, free & -free);
#pragma omp task shared(found) firstprivate(next, at)
        found[at] = place(next, row + 1);
    }
#pragma omp taskwait
    for (int i = 0; i < at; ++i)
        sum += found[i];
    return sum;
}

static void prepare(void)
{
    solutions = 0;
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    solutions = place((struct board){0, 0, 0}, 0);
}

static const char *check(void)
{
    return solutions == expected ? NULL : "not the number of solutions";
}

const struct program nqueens_program = {"nqueens", prepare, solve, check};
