/* One library of mixed.c; built once by gcc and once by clang, each time under its own PREFIX. */
#ifndef MIXED_REGION_H
#define MIXED_REGION_H

/* Called by every thread of a region; the other library's region, or nothing. */
typedef long inner_region(int seed);

struct mixed_result {
    long sum;     /* of what the inner regions returned */
    long wrong;   /* threadprivate copies that somebody else wrote, teams of another size than asked for */
    long workers; /* kernel threads of this process, the largest number seen */
};

struct mixed_result by_gcc_outer(int threads, int rounds, inner_region *inner);
struct mixed_result by_clang_outer(int threads, int rounds, inner_region *inner);
long by_gcc_inner(int seed);
long by_clang_inner(int seed);
#endif
