// what: a device for which the program has no image is not used by any construct: what is mapped and what regions write stays together
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// unmarked: GPUs without an image are what this is about
// no-cubin: it would be one
#include "check.h"
#include <omp.h>
#include <stdlib.h>

#pragma omp declare target
int there = 5;
#pragma omp end declare target

int main(void)
{
    for (int device = 0; device < omp_get_num_devices(); device++) {
        int x[4] = {1, 2, 3, 4}, here = 0;
#pragma omp target data map(tofrom : x) device(device)
        {
#pragma omp target map(tofrom : x) device(device)
            x[0] = 7;
#pragma omp target update from(x) device(device)
            CHECK(x[0] == 7);
        }
        CHECK(x[0] == 7 && x[3] == 4);
#pragma omp target enter data map(to : x) device(device)
#pragma omp target nowait depend(inout : x) map(tofrom : x) device(device)
        x[1] += 10;
#pragma omp taskwait
#pragma omp target exit data map(from : x) device(device)
        CHECK(x[1] == 12);
#pragma omp target map(tofrom : here) device(device)
        here = there + omp_is_initial_device();
        /* GPUs have no image here: the regions run on the host, as far as compilers leave it to the library.
         */
        CHECK(here == 5 || here == 6);
    }
    return check_result();
}
