// what: a region whose blocks no device has room for at a time ends the program with a line that says how much is missing
// env: OMPX_DEVICE_MEMORY=100K
// offload: yes
// devices: 1
// threads: 4
// mode: preload
// ours: ompx_array_create
// expect-exit: 1
// expect-stderr: blocks of arrays need 131072 bytes on device 0 at a time, for which there is no room; the program stops
// expect-stderr-lines: 1
#include "device.h"
#include "arrays.h"
int main(void)
{
    char *a = ompx_array_create(NULL, 1 << 20, 64 << 10);
    CHECK(a != NULL);
    char *b = a + (64 << 10);
#pragma omp target map(tofrom : a[0 : 64 << 10]) map(to : b[0 : 64 << 10]) device(0)
    a[0] = b[0];
    fprintf(stderr, "it ran\n");
    return check_result();
}
