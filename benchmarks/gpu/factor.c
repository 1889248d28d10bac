/* LU, QR and Cholesky with trailing updates on GPUs and panels on the host (factor.h), under this runtime or
 * another one.
 *
 *   factor [--check] [--size N] [--block NB] [--panel-threads P] [--depth D] [--rounds R] [--barrier
 * spin|omp] [--way update|arrays] [--routine LU|QR|Cholesky]
 *
 * One line for each run behind the first of its kind: the routine, rows of the matrix, rows of a block, the
 * way of copying, the barrier, threads, threads of a panel, seconds, GFlop/s, residual; with tabs between
 * them. run.sh makes tables of them. The time is from the matrix on the host to its factors there. A residual
 * above 30 ends the program. With --check all of it is done once on a small matrix, and factors that have
 * been spoilt must be found. */
#include "factor.h"

enum { MOST_RESIDUAL = 30 };

static const char *word(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            otherwise = argv[i + 1];
    return otherwise;
}

struct setting {
    long n, nb, rounds;
    int panel_threads, depth, is_small;
    const char *only;
};

static double checked(const struct routine *routine)
{
    double residual = routine->residual();
    MUST(residual <= MOST_RESIDUAL, "%s: the residual is %g", routine->name, residual);
    return residual;
}

/* Would the check see one wrong element of the last block, or of the first one? */
static void check_the_check(const struct routine *routine)
{
    long nb = matrix.nb, last = matrix.count - 1;
    double *spoilt[] = {&matrix.column[0][(matrix.n - 1) * nb + nb / 2],
                        &matrix.column[last][matrix.n * nb - 1]};
    for (int i = 0; i < 2; i++) {
        double kept = *spoilt[i];
        *spoilt[i] -=
            copysign(1e-3 * (fabs(kept) + 1), kept); /* a multiplier of LU may not become larger than 1 */
        double residual = routine->residual();
        MUST(!(residual <= MOST_RESIDUAL), "%s: a wrong element makes a residual of %g", routine->name,
             residual);
        *spoilt[i] = kept;
    }
}

static void run(const struct routine *routine, const struct setting *s, enum way way, int spins)
{
    graph_prepare(routine, way, s->n, s->nb, s->depth);
    for (long round = 0; round <= s->rounds; round++) {
        double took = graph_run(routine, s->panel_threads, spins), residual = checked(routine),
               n = (double)s->n;
        if (round > 0)
            printf("%s\t%ld\t%ld\t%s\t%s\t%d\t%d\t%.6f\t%.2f\t%.3f\n", routine->name, s->n, s->nb,
                   way == BY_ARRAYS ? "arrays" : "update", spins ? "spin" : "omp", omp_get_max_threads(),
                   s->panel_threads, took, 1e-9 * routine->flops * n * n * n / took, residual);
    }
    if (s->is_small)
        check_the_check(routine);
    graph_release();
}

static int names(const char *text, const char *name)
{
    return !*text || !strcmp(text, name);
}

static void run_all(const struct setting *s, const char *way, const char *barrier)
{
    const struct routine *const routines[] = {&lu, &qr, &cholesky};
    int ran = 0;
    for (int r = 0; r < 3; r++)
        for (int arrays = 0; arrays < 2; arrays++)
            for (int spins = 0; spins < 2; spins++)
                if (names(s->only, routines[r]->name) && names(way, arrays ? "arrays" : "update") &&
                    names(barrier, spins ? "spin" : "omp"))
                    run(routines[r], s, arrays ? BY_ARRAYS : BY_UPDATE, spins), ran++;
    MUST(ran > 0, "there is no %s by %s with %s", s->only, way, barrier);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int is_small = is_check(argc, argv), cores = omp_get_num_procs();
    long n = option(argc, argv, "--size", is_small ? 192 : 8192),
         nb = option(argc, argv, "--block", is_small ? 16 : 128);
    long rounds = option(argc, argv, "--rounds", is_small ? 1 : 3), depth = option(argc, argv, "--depth", 2);
    long panel_threads = option(argc, argv, "--panel-threads",
                                is_small     ? 3
                                : cores > 16 ? 8
                                             : (cores + 1) / 2);
    MUST(depth <= MOST_DEPTH && panel_threads <= MOST_TEAM, "at most %d steps at a time, %d threads",
         MOST_DEPTH, MOST_TEAM);
    MUST(omp_get_num_devices() > 0, "there is no GPU");
    omp_set_max_active_levels(2);
    struct setting s = {
        n, nb, rounds, (int)panel_threads, (int)depth, is_small, word(argc, argv, "--routine", "")};
    run_all(&s, word(argc, argv, "--way", ""), word(argc, argv, "--barrier", ""));
    return 0;
}
