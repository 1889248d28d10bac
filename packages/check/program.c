/* Prints the threads of a team, and whether this is Gangway. */
#include <omp.h>
#include <stdio.h>

size_t ompx_describe(char *, size_t) __attribute__((weak));

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += omp_get_num_threads();
    printf("%d %s\n", sum, ompx_describe ? "gangway" : "another runtime");
    return 0;
}
