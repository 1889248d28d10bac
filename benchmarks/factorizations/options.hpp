// What a run is asked to do, and what it notes about itself.
#pragma once

#include "grid.hpp"
#include "panel_barrier.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

enum class Routine { potrf, getrf, geqrf };

struct Options {
    Routine routine = Routine::potrf;
    int n = 1000;          ///< order of the matrix
    int nb = 128;          ///< order of a tile
    int ib = 16;           ///< columns of a stripe inside a panel
    int threads = 2;       ///< threads of the outer region
    int panel_threads = 1; ///< threads of a panel's region; 1: no region
    int lookahead = 1;     ///< columns updated ahead of the rest
    BarrierKind barrier = BarrierKind::spin;
    int runs = 6;
    int warmup = 1;
    bool check = true;
    bool priority = true;
    bool trace = false;
    bool tsv = false;
    int p = 1, q = 1;    ///< rows and columns of the grid of ranks
    bool damage = false; ///< spoil one number of the factors, so that the check must fail
    std::uint64_t seed = 1;
};

/// Reads the command line. Prints what is wrong and exits with status 2 if it cannot.
Options parse_options(int argc, char **argv);
/// The name of a routine as LAPACK has it, without the letter of the type.
const char *name_of(Routine routine);
const char *name_of(BarrierKind kind);

/// Seconds spent in the three kinds of outer tasks (they overlap), and barriers met in panels. For one
/// factorization.
struct Trace {
    std::atomic<double> panel{0}, lookahead{0}, trailing{0};
    std::atomic<long> barriers{0};
};

/// Adds the life of an object of this type to one of the sums of a trace.
class Timed {
  public:
    explicit Timed(std::atomic<double> &sum);
    ~Timed();
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;

  private:
    std::atomic<double> &sum_;
    double start_;
};

/// What all routines are given: the options, the ranks, and the notes.
struct Context {
    const Options &options;
    const Grid &grid;
    Trace &trace;

    /// Priority of panel and lookahead tasks.
    int high() const
    {
        return options.priority ? 1 : 0;
    }
};
