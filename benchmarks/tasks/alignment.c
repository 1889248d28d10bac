/* Global alignment of random sequences, all pairs: data, the kernel, and the check. Gotoh's recurrences in
 * one row of memory. */
#include "suite.h"

#include <string.h>

enum {
    LEAST_LENGTH = 60,
    SHORT_LENGTH = 180,
    LEAST_LONG_LENGTH = 200,
    MOST_LENGTH = 1000,
    LETTERS = 20,
    GAP_OPEN = 10,
    GAP_MORE = 2,
    NOT_YET = -1000000,
    SAMPLES = 40
};

int alignment_scores[MOST_SEQUENCES][MOST_SEQUENCES];
static unsigned char text[MOST_SEQUENCES][MOST_LENGTH];
static int length[MOST_SEQUENCES], sequences;
static int similarity[LETTERS][LETTERS];

static void prepare(int count, int least, int most)
{
    sequences = count;
    unsigned long state = 11;
    for (int a = 0; a < LETTERS; ++a)
        for (int b = 0; b <= a; ++b)
            similarity[a][b] = similarity[b][a] =
                a == b ? 5 + (int)(next_random(&state) % 5) : (int)(next_random(&state) % 6) - 4;
    for (int i = 0; i < count; ++i) {
        length[i] = least + (int)(next_random(&state) % (unsigned)(most - least + 1));
        for (int j = 0; j < length[i]; ++j)
            text[i][j] = (unsigned char)(next_random(&state) % LETTERS);
        for (int j = 0; j < count; ++j)
            alignment_scores[i][j] = NOT_YET;
    }
}

void alignment_prepare(void)
{
    prepare(SEQUENCES, LEAST_LENGTH, SHORT_LENGTH);
}

void alignment_prepare_long(int count)
{
    prepare(count, LEAST_LONG_LENGTH, MOST_LENGTH);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

int alignment_score(int first, int second)
{
    /* Of the row above and, as far as it is done, of this one: the best score, and the best that ends in a
     * gap of `first`. */
    int best[MOST_LENGTH + 1], gap_above[MOST_LENGTH + 1];
    const int columns = length[second];
    best[0] = 0;
    for (int j = 1; j <= columns; ++j) {
        best[j] = -GAP_OPEN - GAP_MORE * j;
        gap_above[j] = NOT_YET;
    }
    for (int i = 1; i <= length[first]; ++i) {
        const int *similar = similarity[text[first][i - 1]];
        int diagonal = best[0], gap_left = NOT_YET;
        best[0] = -GAP_OPEN - GAP_MORE * i;
        for (int j = 1; j <= columns; ++j) {
            gap_above[j] = larger(gap_above[j], best[j] - GAP_OPEN) - GAP_MORE;
            gap_left = larger(gap_left, best[j - 1] - GAP_OPEN) - GAP_MORE;
            const int match = diagonal + similar[text[second][j - 1]];
            diagonal = best[j];
            best[j] = larger(match, larger(gap_above[j], gap_left));
        }
    }
    return best[columns];
}

/* Every pair has a score, and some, computed the other way round, have the same. */
const char *alignment_check(void)
{
    for (int i = 0; i < sequences; ++i)
        for (int j = 0; j < i; ++j)
            if (alignment_scores[i][j] == NOT_YET)
                return "a pair has no score";
    unsigned long state = 12;
    for (int sample = 0; sample < SAMPLES; ++sample) {
        const int i = 1 + (int)(next_random(&state) % (unsigned)(sequences - 1)),
                  j = (int)(next_random(&state) % (unsigned)i);
        if (alignment_scores[i][j] != alignment_score(j, i))
            return "a score depends on the order of its pair";
    }
    return NULL;
}
