/* What the programs of the task suite share: how a program describes itself, and random numbers.
 *
 * A program is prepared, solved (only this is timed) and checked, as often as asked for. The solution runs on
 * OpenMP tasks, or on oneTBB in the other build of three of them; preparation, kernels and checks are the
 * same code. */
#ifndef SUITE_H
#define SUITE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct program {
    const char *name;
    /* Makes the input anew. */
    void (*prepare)(void);
    void (*solve)(void);
    /* Nothing if the result is right, otherwise what is wrong with it. */
    const char *(*check)(void);
};

/* Ended by a null pointer. */
extern const struct program *const programs[];

/* Threads, as asked for by --threads. */
extern int team_size;

/* SplitMix64 (Steele, Lea, Flood 2014): the next number of a generator, and one number made of another. */
unsigned long next_random(unsigned long *state);
unsigned long mixed(unsigned long number);

/* Between 0 and 1. */
double next_real(unsigned long *state);

/* Memory, or the end of the process. */
void *allocate(size_t count, size_t size);

/* --- sort: integers
 * --------------------------------------------------------------------------------------------- */
enum { SORT_COUNT = 1 << 20, SORT_LEAF = 2048 };
extern int *sort_data, *sort_scratch;
void sort_prepare(void);
const char *sort_check(void);
/* Sorts a short stretch in place. */
void sort_leaf(int *from, long count);
/* Merges two sorted stretches into a third. */
void merge_leaf(const int *a, long count_a, const int *b, long count_b, int *to);
/* How many of the sorted `from` are below `value`. */
long rank_of(int value, const int *from, long count);

/* --- fft: complex numbers
 * --------------------------------------------------------------------------------------- */
enum { FFT_COUNT = 1 << 18, FFT_LEAF = 512, FFT_CHUNK = 4096 };
struct complex_number {
    double re, im;
};
extern struct complex_number *fft_input, *fft_output;
void fft_prepare(void);
const char *fft_check(void);
/* The transform of every `stride`-th of `count` numbers. */
void fft_leaf(const struct complex_number *from, struct complex_number *to, long count, long stride);
/* Joins transforms of even and odd numbers, which are the halves of `to`: elements `begin` to `end` of each
 * half. */
void fft_join(struct complex_number *to, long count, long begin, long end);

/* --- alignment: pairs of sequences
 * ------------------------------------------------------------------------------ */
enum { SEQUENCES = 40, MOST_SEQUENCES = 100 };
extern int alignment_scores[MOST_SEQUENCES][MOST_SEQUENCES];
/* SEQUENCES sequences of 60 to 180 letters. */
void alignment_prepare(void);
/* So many sequences of 200 to 1000 letters. */
void alignment_prepare_long(int count);
const char *alignment_check(void);
/* The best score of a global alignment with affine gaps. */
int alignment_score(int first, int second);

#ifdef __cplusplus
}
#endif

#endif
