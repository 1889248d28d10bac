// what: OMP_DISPLAY_AFFINITY: every thread of a team says where it is when the team is new, another size or elsewhere
// env: OMP_DISPLAY_AFFINITY=true
// threads: 2
// mode: preload,symlink
// compilers: clang>=19
// ours: the order of lines is not compared on other runtimes
// expect-stdout: L1 N1*first*L1 N2*L1 N2*second*L2 N1*L1 N1*third
#include "check.h"
#include <omp.h>
static void region(int size)
{
    int count = 0;
#pragma omp parallel num_threads(size) reduction(+ : count)
    count++;
    CHECK_EQ(count, size);
}
static void say(const char *what)
{
    puts(what);
    fflush(stdout);
}
int main(void)
{
    omp_set_affinity_format("L%L N%N");
    region(1);
    region(1);
    say("first");
    region(2);
    region(2);
    say("second");
#pragma omp parallel num_threads(1)
    region(1);
    region(1);
    say("third");
    return check_result();
}
