/* A country of villages in a tree, step by step: people fall ill, are treated at the clinic of their village,
 * and the bad cases go to the next larger one. A village is a task in every step. What goes up waits in an
 * outbox that the larger village empties after all its children are done, in their order: the result does not
 * depend on the schedule. */
#include "programs.h"

#include <string.h>

enum { LEVELS = 5, CHILDREN = 4, VILLAGES = 341, STEPS = 100, QUEUE = 64, FIRST_CHILD = 1 };

struct patient {
    int days, moves;
};

struct village {
    unsigned long state;
    int level, ill, away;
    struct patient clinic[QUEUE], outbox[QUEUE];
    long treated, sent_up, turned_away;
};

static struct village country[VILLAGES];
static unsigned long expected;

static int is_less_than(struct village *v, unsigned share)
{
    return next_random(&v->state) % 1000 < share;
}

static void admit(struct village *v, struct patient p)
{
    if (v->ill < QUEUE)
        v->clinic[v->ill++] = p;
    else
        ++v->turned_away;
}

static void one_day(struct village *v)
{
    int kept = 0;
    for (int i = 0; i < v->ill; ++i) {
        struct patient p = v->clinic[i];
        if (--p.days <= 0) {
            ++v->treated;
        } else if (v->level > 0 && v->away < QUEUE && is_less_than(v, 50)) {
            ++p.moves;
            v->outbox[v->away++] = p;
            ++v->sent_up;
        } else {
            v->clinic[kept++] = p;
        }
    }
    v->ill = kept;
    for (int i = 0; i < 4; ++i)
        if (is_less_than(v, 400))
            admit(v, (struct patient){3 + (int)(next_random(&v->state) % 12), 0});
}

static void receive(struct village *larger, struct village *from)
{
    for (int i = 0; i < from->away; ++i)
        admit(larger, from->outbox[i]);
    from->away = 0;
}

static void simulate_serially(int at)
{
    for (int i = 0; i < CHILDREN && country[at].level < LEVELS - 1; ++i)
        simulate_serially(at * CHILDREN + FIRST_CHILD + i);
    for (int i = 0; i < CHILDREN && country[at].level < LEVELS - 1; ++i)
        receive(&country[at], &country[at * CHILDREN + FIRST_CHILD + i]);
    one_day(&country[at]);
}

static void simulate(int at)
{
    const int first = at * CHILDREN + FIRST_CHILD, is_leaf = country[at].level == LEVELS - 1;
    for (int child = first; child < first + CHILDREN && !is_leaf; ++child) {
#pragma omp task
        simulate(child);
    }
#pragma omp taskwait
    for (int child = first; child < first + CHILDREN && !is_leaf; ++child)
        receive(&country[at], &country[child]);
    one_day(&country[at]);
}

static void begin(void)
{
    memset(country, 0, sizeof country);
    for (int i = 0; i < VILLAGES; ++i) {
        country[i].state = (unsigned long)i + 31;
        country[i].level = i == 0 ? 0 : country[(i - 1) / CHILDREN].level + 1;
    }
}

static unsigned long fingerprint(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < VILLAGES; ++i) {
        const struct village *v = &country[i];
        const unsigned long counts =
            (unsigned long)(v->treated + 1000 * v->sent_up + 1000000 * v->turned_away);
        sum = mixed(sum ^ counts ^ v->state) + (unsigned long)v->ill;
    }
    return sum;
}

static void prepare(void)
{
    if (expected == 0) {
        begin();
        for (int step = 0; step < STEPS; ++step)
            simulate_serially(0);
        expected = fingerprint();
    }
    begin();
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    for (int step = 0; step < STEPS; ++step)
        simulate(0);
}

static const char *check(void)
{
    return fingerprint() == expected ? NULL : "not what the serial simulation gives";
}

const struct program health_program = {"health", prepare, solve, check};
