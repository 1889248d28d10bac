// what: a thread that is alone in its team goes on behind target nowait: 60 regions of 10 ms take far less than 600 ms, those that
// depend on each other compute in order, and what is not waited for is over when the region or the program ends: where = @WHERE@
// each: WHERE = main / parallel
// env: GANGWAY_HOST_DEVICE_DELAY=10000
// offload: yes
// no-gpu: it wants copies that take as long as it says
// devices: 3
// threads: 1
// alone: yes
// mode: preload
// ours: host devices
#include "device.h"
#include <unistd.h>
enum { N = 60, CHAINS = 3, LENGTH = 4, main_, parallel_ };
static int v[N], left[N];
static long chain[CHAINS];

static void many(void)
{
    double start = omp_get_wtime();
    for (int i = 0; i < N; i++) {
        int *p = &v[i];
        v[i] = i;
#pragma omp target nowait device(i % omp_get_num_devices()) is_device_ptr(p)
        p[0] += 1;
    }
#pragma omp taskwait
    double took = omp_get_wtime() - start;
    for (int i = 0; i < N; i++)
        CHECK_EQ(v[i], i + 1);
    CHECK(took >= 0.010);
    CHECK(took < 0.3);
}

static void chains(void)
{
    long want[CHAINS];
    for (int c = 0; c < CHAINS; c++) {
        long *p = &chain[c];
        *p = want[c] = c;
        for (int i = 0; i < LENGTH; i++) {
            want[c] = want[c] * 3 + i;
            if (i % 2 == 0) {
#pragma omp target nowait depend(inout : p[0]) device((c + i) % omp_get_num_devices()) is_device_ptr(p) firstprivate(i)
                p[0] = p[0] * 3 + i;
            } else {
#pragma omp task depend(inout : p[0]) firstprivate(i)
                p[0] = p[0] * 3 + i;
            }
        }
    }
#pragma omp taskwait
    for (int c = 0; c < CHAINS; c++)
        CHECK_EQ(chain[c], want[c]);
}

static void leave_some(void)
{
    for (int i = 0; i < N; i++) {
        int *p = &left[i];
#pragma omp target nowait device(i % omp_get_num_devices()) is_device_ptr(p)
        p[0] += 1;
    }
}

static void look_for_those_left(void)
{
    for (int i = 0; i < N; i++)
        if (left[i] != 1) {
            static const char line[] = "a region that main left was not carried out\n";
            if (write(2, line, sizeof line - 1) < 0)
                _exit(2);
            _exit(1);
        }
}

static void all(void)
{
    many();
    chains();
    leave_some();
}

int main(void)
{
    if (@WHERE@_ == main_) {
        atexit(look_for_those_left); // after what the library does at the end
        all();
    } else {
#pragma omp parallel num_threads(1)
        all();
        look_for_those_left();
    }
    return check_result();
}
