// The command line.
#include "options.hpp"

#include "blas.hpp"

#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void fail(const std::string &why)
{
    std::fprintf(
        stderr,
        "factorize: %s\n"
        "usage: factorize [--routine potrf|getrf|geqrf] [--n N] [--nb NB] [--ib IB] [--threads T]\n"
        "                 [--panel-threads P] [--lookahead L] [--barrier spin|omp] [--runs R] [--warmup W]\n"
        "                 [--check yes|no] [--priority yes|no] [--seed S] [--p P] [--q Q]\n"
        "                 [--trace] [--tsv] [--damage] [--sleep GFLOPS]\n",
        why.c_str());
    std::exit(2);
}

long number(const std::string &option, const char *text, long least, long most)
{
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most)
        fail(option + " takes a number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

/// The index of `text` among `words`.
int choice(const std::string &option, const char *text, const std::vector<const char *> &words)
{
    for (std::size_t i = 0; i < words.size(); ++i)
        if (std::strcmp(text, words[i]) == 0)
            return static_cast<int>(i);
    fail(option + " does not know " + text);
}

/// Takes one option that has a value; false if there is none of that name.
bool take(Options &o, const std::string &name, const char *value)
{
    const auto count = [&](long least) { return static_cast<int>(number(name, value, least, 1000000)); };
    const auto yes = [&] { return choice(name, value, {"no", "yes"}) == 1; };
    if (name == "--routine")
        o.routine = static_cast<Routine>(choice(name, value, {"potrf", "getrf", "geqrf"}));
    else if (name == "--n")
        o.n = count(1);
    else if (name == "--nb")
        o.nb = count(1);
    else if (name == "--ib")
        o.ib = count(1);
    else if (name == "--threads")
        o.threads = count(1);
    else if (name == "--panel-threads")
        o.panel_threads = count(1);
    else if (name == "--lookahead")
        o.lookahead = count(0);
    else if (name == "--barrier")
        o.barrier = static_cast<BarrierKind>(choice(name, value, {"spin", "omp"}));
    else if (name == "--p")
        o.p = count(1);
    else if (name == "--q")
        o.q = count(1);
    else if (name == "--runs")
        o.runs = count(1);
    else if (name == "--warmup")
        o.warmup = count(0);
    else if (name == "--check")
        o.check = yes();
    else if (name == "--priority")
        o.priority = yes();
    else if (name == "--sleep") {
        blas::sleeping_gflops = count(1);
        o.check = false; // nothing is computed
    } else if (name == "--seed")
        o.seed = static_cast<std::uint64_t>(number(name, value, 0, 1L << 62));
    else
        return false;
    return true;
}

} // namespace

Options parse_options(int argc, char **argv)
{
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--trace") {
            options.trace = true;
        } else if (name == "--tsv") {
            options.tsv = true;
        } else if (name == "--damage") {
            options.damage = true;
        } else {
            if (i + 1 == argc)
                fail(name + " is unknown or lacks its value");
            if (!take(options, name, argv[++i]))
                fail(name + " is unknown");
        }
    }
    if (options.routine == Routine::geqrf && options.p != 1 && options.n % options.nb != 0)
        fail("geqrf with --p above 1 wants an order that is a multiple of --nb");
    return options;
}

const char *name_of(Routine routine)
{
    switch (routine) {
    case Routine::potrf: return "potrf";
    case Routine::getrf: return "getrf";
    case Routine::geqrf: return "geqrf";
    }
    return "?";
}

const char *name_of(BarrierKind kind)
{
    return kind == BarrierKind::spin ? "spin" : "omp";
}

Timed::Timed(std::atomic<double> &sum) : sum_(sum), start_(omp_get_wtime()) {}

Timed::~Timed()
{
    const double spent = omp_get_wtime() - start_;
    double old = sum_.load();
    while (!sum_.compare_exchange_weak(old, old + spent)) {
    }
}
