// what: regions for a set of devices, for those that have data, and for the one where data were written run there
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 4
// threads: 1,4
// mode: preload
// ours: ompx_device_set
// expect-stderr: ompx_device_set: there is no device of this kind
// expect-stderr: ompx_device_set: the list is empty or too long
// expect-stderr-lines: 2
#include "check.h"
#include "arrays.h"
#pragma weak ompx_device_set
#pragma weak ompx_device_near
#pragma weak ompx_device_of
enum { REGIONS = 30, N = 1000 };

static void sets(void)
{
    int two[] = {3, 1, 3}, again[] = {1, 3}, none[] = {4}, on[REGIONS];
    int set = ompx_device_set(two, 3);
    CHECK(set > 0);
    CHECK_EQ(ompx_device_set(again, 2), set);
    CHECK(ompx_device_set(again, 1) != set);
    CHECK_EQ(ompx_device_set(none, 1), OMPX_E_DEVICE);
    CHECK_EQ(ompx_device_set(two, 0), OMPX_E_COUNT);
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < REGIONS; r++) {
#pragma omp target nowait device(set) map(from : on[r : 1])
        on[r] = omp_get_device_num();
    }
    int wrong = 0;
    for (int r = 0; r < REGIONS; r++)
        wrong += on[r] != 1 && on[r] != 3;
    CHECK_EQ(wrong, 0);
}

/* Where data are: mapped, or as a block of an array. */
static void near(void)
{
    int x[N], on = -1;
    for (int d = 0; d < 4; d++) {
#pragma omp target enter data map(to : x) device(d)
#pragma omp target device(ompx_device_near(&x[N / 2])) map(from : on)
        on = omp_get_device_num();
        CHECK_EQ(on, d);
#pragma omp target exit data map(delete : x) device(d)
    }
    int *a = ompx_array_create(NULL, N * sizeof *a, 0);
    CHECK(a != NULL);
    for (int d = 3; d >= 0; d--) {
        on = -1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp target nowait depend(out : a[0]) map(tofrom : a[0 : N]) device(d)
            a[d] = d;
            /* Which device that is is known when the region before has run. */
#pragma omp target nowait depend(in : a[0]) device(ompx_device_near(a)) map(from : on)
            on = omp_get_device_num();
        }
        CHECK_EQ(on, d);
    }
    CHECK_EQ(ompx_array_destroy(a), 0);
    /* Where nobody has it, somewhere. */
    on = -1;
#pragma omp target device(ompx_device_near(x)) map(from : on)
    on = omp_get_device_num();
    CHECK(on >= 0 && on < 4);
}

/* Where another region ran. */
static void behind(void)
{
    int x[N], on[2];
    for (int d = 0; d < 4; d++) {
        on[0] = on[1] = -1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp target nowait depend(out : x) map(from : x) device(d)
            for (int i = 0; i < N; i++)
                x[i] = i;
            for (int r = 0; r < 2; r++) {
#pragma omp target nowait depend(inout : x) map(tofrom : x) map(from : on[r : 1]) device(ompx_device_of(x))
                on[r] = omp_get_device_num();
            }
        }
        CHECK_EQ(on[0], d);
        CHECK_EQ(on[1], d);
    }
}

int main(void)
{
    CHECK_EQ(omp_get_num_devices(), 4);
    sets();
    near();
    behind();
    return check_result();
}
