/* Programs that go wrong on rank 1, by the first argument; none of them ends well. */
#include "device.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0;
    int *unmapped = malloc(sizeof *unmapped * 1000);
    unmapped[0] = 0;
    long address = (long)unmapped;
#pragma omp target device(0) firstprivate(how, address)
    switch (how) {
    case 1: *(volatile int *)address = 1; break;
    case 2: exit(3);
    case 3: kill(getpid(), SIGKILL);
    }
    if (how == 4) { /* a part of it is mapped already */
#pragma omp target enter data device(0) map(to : unmapped[5 : 10])
#pragma omp target enter data device(0) map(to : unmapped[0 : 10])
    }
    puts("still here");
    return 0;
}
