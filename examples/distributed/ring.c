/* A token goes from rank to rank; every task that gets it adds 10 to it, by ten threads. Twice: first main
 * sends it from task to task, then each task hands it on itself, from its own rank.
 *
 * A region that launches a region needs a compiler which has code for that: gcc. clang's code for ranks runs
 * the inner region where the outer one runs, so there the second token stays on one rank. The sums are the
 * same. */
#include "example.h"

enum { TASKS = 12 };

static int ten_more(int token)
{
#pragma omp parallel for num_threads(10) reduction(+ : token)
    for (int i = 0; i < 10; i++)
        token++;
    return token;
}

/* Task `t` and all after it; `on` gets a digit for each, the rank that it ran on. */
static int pass(int token, int t, char *on)
{
    int last = 0;
    if (t == TASKS)
        return token;
#pragma omp target device(home(t)) map(from : last) map(tofrom : on[0 : TASKS])
    {
        on[t] = (char)('0' + rank_here() % 10);
        last = pass(ten_more(token), t + 1, on);
    }
    return last;
}

int main(void)
{
    int first = 0, second = 0;
    char sent[TASKS + 1] = "", passed[TASKS + 1] = "";
    if (has_nothing_to_begin())
        return 0;

    /* Sent by main: the tasks exist all at once, and `depend` keeps them in order. */
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
#pragma omp target nowait device(home(t)) depend(inout : first) map(tofrom : first) map(from : sent[t : 1])
        {
            sent[t] = (char)('0' + rank_here() % 10);
            first = ten_more(first);
        }
    }

    second = pass(0, 0, passed);
    int right = first == 10 * TASKS && second == 10 * TASKS;
    printf("ring: tokens %d and %d after %d tasks, %s\n", first, second, TASKS, right ? "right" : "WRONG");
    printf("  ranks of the first: %s, of the second: %s\n", sent, passed);
    return !right;
}
