// Nested regions whose threads meet in a spinning barrier, launched from tasks: how long does it take?
//
// Every team needs all its P threads at once, and no thread ever calls the runtime while it waits. With T
// outer threads and more team members than cores, a runtime that leaves it to the kernel pays a time slice
// per barrier.
#include "panel_barrier.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

/// What a thread does in its loop while it waits: nothing, the processor's pause, a call of the kernel, or of
/// the runtime.
enum class Wait { spin, pause, sched_yield, taskyield };

constexpr const char *wait_names[] = {"spin", "pause", "sched_yield", "taskyield"};

struct Options {
    int teams = 2;
    int panel_threads = 4;
    int threads = 2;
    int rounds = 50;
    double work_us = 5.0;
    int repetitions = 7;
    Wait wait = Wait::spin;
};

/// Computes for about that long without looking at the clock more often than needed.
void work(double us)
{
    const double end = omp_get_wtime() + us * 1e-6;
    while (omp_get_wtime() < end) {
    }
}

/// The barrier of panel_barrier.hpp with something in its loop.
template <typename Pass>
class BusyBarrier {
  public:
    void wait(int size)
    {
        const int mine = generation_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(mine + 1, std::memory_order_release);
        } else {
            while (generation_.load(std::memory_order_acquire) == mine)
                Pass::once();
        }
    }

  private:
    std::atomic<int> arrived_{0}, generation_{0};
};

struct Pause {
    static void once()
    {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
};

struct Yield {
    static void once()
    {
        ::sched_yield();
    }
};

struct Taskyield {
    static void once()
    {
#pragma omp taskyield
    }
};

/// One team: `rounds` times some work and a barrier. Returns how many threads did all their rounds, each
/// checked: nobody may leave a barrier before all have arrived.
template <typename Barrier>
int run_team(const Options &o)
{
    Barrier barrier;
    std::atomic<long> arrivals{0};
    std::atomic<int> done{0};
#pragma omp parallel num_threads(o.panel_threads) shared(barrier, arrivals, done, o)
    {
        const int size = omp_get_num_threads();
        bool right = true;
        for (int round = 1; round <= o.rounds; ++round) {
            work(o.work_us);
            arrivals.fetch_add(1, std::memory_order_relaxed);
            barrier.wait(size);
            right = right && arrivals.load(std::memory_order_relaxed) >= static_cast<long>(round) * size;
        }
        if (right && size == o.panel_threads)
            ++done;
    }
    return done.load();
}

int run_team_waiting(const Options &o)
{
    switch (o.wait) {
    case Wait::pause: return run_team<BusyBarrier<Pause>>(o);
    case Wait::sched_yield: return run_team<BusyBarrier<Yield>>(o);
    case Wait::taskyield: return run_team<BusyBarrier<Taskyield>>(o);
    default: return run_team<SpinBarrier>(o);
    }
}

/// All teams once. Returns milliseconds, or a negative number if a barrier let somebody through or threads
/// were missing.
double run_all(const Options &o)
{
    std::atomic<int> done{0};
    const double start = omp_get_wtime();
#pragma omp parallel num_threads(o.threads) shared(done, o)
#pragma omp master
#pragma omp taskgroup
    for (int team = 0; team < o.teams; ++team) {
#pragma omp task shared(done, o)
        done += run_team_waiting(o);
    }
    const double ms = (omp_get_wtime() - start) * 1e3;
    return done.load() == o.teams * o.panel_threads ? ms : -1.0;
}

[[noreturn]] void usage()
{
    std::fprintf(
        stderr,
        "usage: spin_barriers [--teams N] [--panel-threads P] [--threads T] [--rounds R] [--work-us U]\n"
        "                     [--repetitions N] [--wait spin|pause|sched_yield|taskyield]\n");
    std::exit(2);
}

Wait wait_named(const char *word)
{
    for (int i = 0; i < 4; ++i)
        if (std::strcmp(word, wait_names[i]) == 0)
            return static_cast<Wait>(i);
    usage();
}

Options parse(int argc, char **argv)
{
    Options o;
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i];
        if (std::strcmp(name, "--wait") == 0) {
            o.wait = wait_named(i + 1 < argc ? argv[++i] : "");
            continue;
        }
        char *end = nullptr;
        const long value = i + 1 < argc ? std::strtol(argv[++i], &end, 10) : 0;
        const bool us = std::strcmp(name, "--work-us") == 0;
        if (end == nullptr || *end != '\0' || value < (us ? 0 : 1) || value > 1000000)
            usage();
        if (us)
            o.work_us = static_cast<double>(value);
        else if (std::strcmp(name, "--teams") == 0)
            o.teams = static_cast<int>(value);
        else if (std::strcmp(name, "--panel-threads") == 0)
            o.panel_threads = static_cast<int>(value);
        else if (std::strcmp(name, "--threads") == 0)
            o.threads = static_cast<int>(value);
        else if (std::strcmp(name, "--rounds") == 0)
            o.rounds = static_cast<int>(value);
        else if (std::strcmp(name, "--repetitions") == 0)
            o.repetitions = static_cast<int>(value);
        else
            usage();
    }
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    omp_set_dynamic(0);
    omp_set_max_active_levels(4);
    std::vector<double> ms;
    for (int i = 0; i < o.repetitions; ++i) {
        ms.push_back(run_all(o));
        if (ms.back() < 0) {
            std::fprintf(
                stderr, "spin_barriers: a barrier let a thread through too early, or a team was too small\n");
            return 1;
        }
    }
    std::sort(ms.begin(), ms.end());
    const double median = (ms[(ms.size() - 1) / 2] + ms[ms.size() / 2]) / 2;
    std::printf("# teams\tP\tT\trounds\twork_us\tbarrier\tmin_ms\tmedian_ms\n");
    std::printf("%d\t%d\t%d\t%d\t%.0f\t%s\t%.3f\t%.3f\n", o.teams, o.panel_threads, o.threads, o.rounds,
                o.work_us, wait_names[static_cast<int>(o.wait)], ms.front(), median);
    return 0;
}
