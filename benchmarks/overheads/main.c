/* Measures one probe and prints one line.
 *
 *   overheads --probe NAME --threads T [--budget-ms B] [--samples 1]
 *       nanoseconds of one construct: least and median; --samples 1 prints each sample, too
 *   overheads --probe NAME --threads T --count N
 *       runs it N times and says how many constructs that are (for counting instructions)
 *   overheads --list
 *       names
 *
 * A sample repeats the construct until it takes about a fiftieth of the budget; samples are taken until the
 * budget is spent, at least five of them, or fewer where one takes longer than the budget. */
#include "probe.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 2000, LEAST_SAMPLES = 5 };

static const struct probe *const families[] = {
    fork_join_probes,  worksharing_probes, nested_probes,  task_probes,   task_processor_probes,
    dependence_probes, lock_probes,        process_probes, replay_probes, hand_over_probes,
};

int team_size = 2;

/* Are all samples printed, in the order in which they were taken? */
static int shows_samples;

static const struct probe *find(const char *name)
{
    for (unsigned f = 0; f < sizeof families / sizeof *families; ++f)
        for (const struct probe *p = families[f]; p->name != NULL; ++p)
            if (strcmp(p->name, name) == 0)
                return p;
    fprintf(stderr, "there is no probe %s\n", name);
    exit(2);
}

static int list(void)
{
    for (unsigned f = 0; f < sizeof families / sizeof *families; ++f)
        for (const struct probe *p = families[f]; p->name != NULL; ++p)
            puts(p->name);
    return 0;
}

static double timed(const struct probe *p, long times)
{
    const double start = now();
    p->repeat(times);
    return now() - start;
}

enum { CALIBRATION_SAMPLES = 5 };

/* The least time of at most five samples; it stops at the first one below `enough`. A thread that has lost
 * its processor would otherwise end the calibration after few repetitions, and each sample would show the
 * region around them. */
static double least_sample(const struct probe *p, long times, double enough)
{
    double least = timed(p, times);
    for (int taken = 1; taken < CALIBRATION_SAMPLES && least >= enough; ++taken) {
        const double took = timed(p, times);
        least = took < least ? took : least;
    }
    return least;
}

/* Repetitions that take about `seconds`. */
static long repetitions(const struct probe *p, double seconds)
{
    long times = 1;
    double took;
    while ((took = least_sample(p, times, seconds / 2)) < seconds / 2 && times < 1l << 30)
        times = took <= 0 ? times * 8 : (long)((double)times * (seconds / took < 8 ? seconds / took + 1 : 8));
    return times;
}

static void print(double least, double median, const char *unit, int samples)
{
    /* A figure of nothing at all would not be reported from a missing one. */
    least = least > 1e-6 ? least : 1e-6;
    median = median > 1e-6 ? median : 1e-6;
    printf("# least\tmedian\tunit\tsamples\tthreads_seen\n%.6f\t%.6f\t%s\t%d\t%d\n", least, median, unit,
           samples, threads_seen());
}

static void measure(const struct probe *p, double budget)
{
    static double samples[MOST_SAMPLES];
    const long times = repetitions(p, budget / 50);
    const double constructs = (double)times * (double)p->batch * (p->each ? team_size : 1);
    const double start = now();
    int count = 0;
    while (count < MOST_SAMPLES) {
        const double spent = now() - start;
        if (spent > budget && (count >= LEAST_SAMPLES || spent > 8 * budget))
            break;
        samples[count++] = timed(p, times) / constructs * 1e9;
    }
    if (shows_samples)
        for (int i = 0; i < count; ++i)
            printf("# sample\t%.3f\n", samples[i]);
    const double median = median_of(samples, count);
    print(samples[0], median, "ns", count);
}

int main(int argc, char **argv)
{
    const char *name = NULL;
    double budget_ms = 60;
    long count = 0;
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--list") != 0; at += 2) {
        const char *option = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(option, "--probe") == 0)
            name = value;
        else if (strcmp(option, "--threads") == 0)
            team_size = atoi(value);
        else if (strcmp(option, "--budget-ms") == 0)
            budget_ms = atof(value);
        else if (strcmp(option, "--count") == 0)
            count = atol(value);
        else if (strcmp(option, "--samples") == 0)
            shows_samples = atoi(value);
        else
            team_size = 0;
    }
    if (at < argc)
        return list();
    if (name == NULL || team_size < 1 || budget_ms <= 0 || count < 0) {
        fprintf(
            stderr,
            "usage: overheads --probe NAME --threads T [--budget-ms B] [--samples 1] [--count N], or --list\n");
        return 2;
    }
    omp_set_dynamic(0);
    omp_set_num_threads(team_size);
    omp_set_max_active_levels(4);
    const struct probe *p = find(name);
    if (count > 0) {
        if (p->repeat != NULL)
            p->repeat(count);
        printf("# probe\tconstructs\n%s\t%ld\n", name, count * p->batch * (p->each ? team_size : 1));
        return 0;
    }
    work_calibrate();
    if (p->figure != NULL) {
        double median = 0;
        const double least = p->figure(&median);
        print(least, median, p->unit, 1);
    } else {
        p->repeat(1);
        measure(p, budget_ms * 1e-3);
    }
    return 0;
}
