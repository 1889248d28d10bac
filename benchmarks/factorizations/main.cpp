// factorize: times one tiled factorization and checks every result.
#include "blas_environment.hpp"
#include "check.hpp"
#include "grid.hpp"
#include "options.hpp"
#include "routines.hpp"

#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

/// One factorization: seconds, and its residual (0 when not asked for).
struct Run {
    double seconds;
    double residual;
};

/// What all runs together say.
struct Summary {
    double least_seconds = 0, median_seconds = 0, residual = 0;
    bool pass = true;
};

/// File name of the library that answers OpenMP calls, links followed.
std::string runtime_name()
{
    Dl_info info{};
    void *symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr)
        return "unknown";
    char *resolved = realpath(info.dli_fname, nullptr);
    const std::string path = resolved != nullptr ? resolved : info.dli_fname;
    std::free(resolved);
    return path.substr(path.rfind('/') + 1);
}

/// Operations that the routine is credited with: LAPACK Working Note 41.
double operations(Routine routine, double n)
{
    switch (routine) {
    case Routine::potrf: return n * n * n / 3 + n * n / 2 + n / 6;
    case Routine::getrf: return 2 * n * n * n / 3 - n * n / 2 + 5 * n / 6;
    case Routine::geqrf: return 4 * n * n * n / 3 + 2 * n * n + 14 * n / 3;
    }
    return 0;
}

Run run_once(const Options &o, const Grid &grid, const std::vector<double> &original, TileMatrix &a,
             TileMatrix &t, Trace &trace)
{
    a.load(original);
    Pivots pivots;
    const Context context{o, grid, trace};
    grid.barrier();
    const double start = omp_get_wtime();
    int info = 0;
    switch (o.routine) {
    case Routine::potrf: info = potrf(a, context); break;
    case Routine::getrf: getrf(a, pivots, context); break;
    case Routine::geqrf: geqrf(a, t, context); break;
    }
    grid.barrier();
    Run run{omp_get_wtime() - start, 0.0};
    grid.gather(a);
    grid.gather(t);
    if (info != 0)
        std::fprintf(stderr, "factorize: block column %d is not positive definite\n", info);
    if (o.damage) {
        const int middle = o.n / 2;
        *a.tile(middle / o.nb, middle / o.nb).at(middle % o.nb, middle % o.nb) += 1e-3;
    }
    if (o.check && grid.rank() == 0) {
        switch (o.routine) {
        case Routine::potrf: run.residual = potrf_residual(original, a); break;
        case Routine::getrf: run.residual = getrf_residual(original, a, pivots); break;
        case Routine::geqrf: run.residual = geqrf_residual(original, a, t); break;
        }
    }
    return run;
}

/// Residuals of the warm-up count too. One that is not a number fails.
Summary summarise(const std::vector<Run> &runs, int warmup)
{
    Summary summary;
    std::vector<double> seconds;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (static_cast<int>(i) >= warmup)
            seconds.push_back(runs[i].seconds);
        if (!(runs[i].residual <= summary.residual))
            summary.residual = runs[i].residual;
        summary.pass = summary.pass && runs[i].residual <= residual_bound;
    }
    std::sort(seconds.begin(), seconds.end());
    summary.least_seconds = seconds.front();
    summary.median_seconds = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
    return summary;
}

void print_tsv(const Options &o, const Summary &s, const Trace &trace)
{
    const double work = operations(o.routine, o.n) * 1e-9;
    std::printf(
        "# routine\tn\tnb\tib\tT\tP\tbarrier\truntime\tmin_s\tmedian_s\tgflops_max\tgflops_median\tresidual\tpass%s\n",
        o.trace ? "\tpanel_s\tlookahead_s\ttrailing_s\tbarriers" : "");
    std::printf("%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%.6f\t%.6f\t%.3f\t%.3f\t", name_of(o.routine), o.n, o.nb,
                o.ib, o.threads, o.panel_threads, name_of(o.barrier), runtime_name().c_str(), s.least_seconds,
                s.median_seconds, work / s.least_seconds, work / s.median_seconds);
    if (o.check)
        std::printf("%.3g\t%s", s.residual, s.pass ? "yes" : "no");
    else
        std::printf("-\tunchecked");
    if (o.trace)
        std::printf("\t%.6f\t%.6f\t%.6f\t%ld", trace.panel.load(), trace.lookahead.load(),
                    trace.trailing.load(), trace.barriers.load());
    std::printf("\n");
}

void print_text(const Options &o, const Summary &s, const Trace &trace)
{
    const double work = operations(o.routine, o.n) * 1e-9;
    std::printf("%s n=%d nb=%d ib=%d T=%d P=%d, %s barrier, %s\n", name_of(o.routine), o.n, o.nb, o.ib,
                o.threads, o.panel_threads, name_of(o.barrier), runtime_name().c_str());
    std::printf("  best   %10.6f s  %8.2f GFlop/s\n  median %10.6f s  %8.2f GFlop/s\n", s.least_seconds,
                work / s.least_seconds, s.median_seconds, work / s.median_seconds);
    if (o.check)
        std::printf("  residual %.3g of at most %.3g: %s\n", s.residual, residual_bound,
                    s.pass ? "pass" : "FAIL");
    if (o.trace)
        std::printf("  last run: panels %.6f s (%ld barriers), lookahead %.6f s, trailing %.6f s\n",
                    trace.panel.load(), trace.barriers.load(), trace.lookahead.load(), trace.trailing.load());
}

} // namespace

int main(int argc, char **argv)
{
    prepare_blas(argv);
    Grid::start(&argc, &argv);
    const Options o = parse_options(argc, argv);
    const Grid grid(o.p, o.q);
    omp_set_dynamic(0);
    omp_set_max_active_levels(4);

    const std::vector<double> original = random_matrix(o.n, o.seed, o.routine == Routine::potrf);
    TileMatrix a(o.n, o.nb), t(2 * o.p * o.nb, o.n, o.nb);
    std::vector<Run> runs;
    std::unique_ptr<Trace> trace;
    for (int i = 0; i < o.warmup + o.runs; ++i) {
        trace = std::make_unique<Trace>();
        runs.push_back(run_once(o, grid, original, a, t, *trace));
    }
    const Summary summary = summarise(runs, o.warmup);
    if (grid.rank() == 0) {
        if (o.tsv)
            print_tsv(o, summary, *trace);
        else
            print_text(o, summary, *trace);
    }
    grid.barrier();
    Grid::finish();
    return summary.pass ? 0 : 1;
}
