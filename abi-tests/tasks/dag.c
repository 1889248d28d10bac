// what: random graphs of in, out and inout dependences give what a serial execution gives
#include "check.h"
enum { CELLS = 12, TASKS = 300 };
static unsigned state;
static unsigned draw(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 10) % n;
}
static void step(long *cells, int a, int b, int c, int t)
{
    cells[c] = cells[c] * 3 + cells[a] * 5 + cells[b] * 7 + t;
    cells[c] %= 1000003;
}
int main(void)
{
    for (int seed = 1; seed <= 8; seed++) {
        long cells[CELLS], serial[CELLS];
        for (int i = 0; i < CELLS; i++)
            cells[i] = serial[i] = i;
        state = (unsigned)seed;
        for (int t = 0; t < TASKS; t++) {
            int a = (int)draw(CELLS), b = (int)draw(CELLS), c = (int)draw(CELLS);
            step(serial, a, b, c, t);
        }
        state = (unsigned)seed;
#pragma omp parallel
#pragma omp single
        for (int t = 0; t < TASKS; t++) {
            int a = (int)draw(CELLS), b = (int)draw(CELLS), c = (int)draw(CELLS);
#pragma omp task depend(in : cells[a], cells[b]) depend(inout : cells[c]) firstprivate(a, b, c, t) \
    shared(cells) untied
            step(cells, a, b, c, t);
        }
        for (int i = 0; i < CELLS; i++)
            CHECK_EQ(cells[i], serial[i]);
    }
    return check_result();
}
