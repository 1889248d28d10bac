// what: a region without room, inside of a region on the host that lies inside of one on the device, does not wait for the outermost
// env: OMPX_DEVICE_MEMORY=1M
// offload: yes
// devices: 1
// threads: 1,4
// mode: preload
// timeout: 20
// compilers: gcc
// ours: placement
// expect-stderr: no device has room for target region
// expect-stderr-lines: 1
#include "place.h"
enum { SIZE = 900 << 10 };
#pragma omp declare target
static void inner(char *part)
{
#pragma omp target device(ANY) map(tofrom : part[0 : SIZE])
    part[0] = 3;
}
static void middle(char *part, char *rest)
{
#pragma omp target device(ANY) map(tofrom : part[0 : SIZE]) firstprivate(rest)
    {
        part[0] = 2;
        inner(rest);
    }
}
#pragma omp end declare target
int main(void)
{
    char *a = calloc(3, SIZE), *b = a + SIZE, *c = b + SIZE;
#pragma omp target device(ANY) map(tofrom : a[0 : SIZE]) firstprivate(b, c)
    {
        a[0] = 1;
        middle(b, c);
    }
    CHECK_EQ(a[0], 1);
    CHECK_EQ(b[0], 2);
    CHECK_EQ(c[0], 3);
    free(a);
    return check_result();
}
