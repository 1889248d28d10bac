/* Many small regions and much data, in little memory: what a rank needs for either does not grow with it. */
#include "device.h"

enum { REGIONS = 100000, BLOCK = 32 << 20, BLOCKS = 128, DEVICES = 64 };

/* The most memory that this process has had, MiB. */
static long peak(void)
{
    long kib = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib >> 10;
}

static long peak_on(int device)
{
    long there = 0;
#pragma omp target device(device) map(from : there)
    there = peak();
    return there;
}

/* One thread creates them all; each adds its number to its device's sum. */
static void many_regions(int devices)
{
    static long sums[DEVICES];
    long all = 0;
    for (int d = 0; d < devices; d++) {
#pragma omp target enter data device(d) map(to : sums[d : 1])
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    for (long i = 0; i < REGIONS; i++) {
        int d = (int)(i % devices);
#pragma omp target nowait device(d) map(alloc : sums[d : 1]) firstprivate(i)
        __atomic_fetch_add(&sums[d], i, __ATOMIC_RELAXED);
    }
    for (int d = 0; d < devices; d++) {
#pragma omp target exit data device(d) map(from : sums[d : 1])
        all += sums[d];
    }
    CHECK_EQ(all, (long)REGIONS * (REGIONS - 1) / 2);
}

/* 4 GiB there and 4 GiB back, some blocks at a time. */
static void much_data(int devices)
{
    long words = BLOCK / sizeof(long);
    long *block[2] = {malloc(BLOCK), malloc(BLOCK)};
    for (int k = 0; k < 2; k++)
        for (long i = 0; i < words; i++)
            block[k][i] = i;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int b = 0; b < BLOCKS; b++) {
        long *one = block[b % 2];
#pragma omp target nowait device(b % devices) map(tofrom : one[0 : words]) depend(inout : one[0])
        for (long i = b; i < words; i += 512)
            one[i]++;
    }
    for (int k = 0; k < 2; k++) {
        long sum = 0, touched = 0;
        for (long i = 0; i < words; i++)
            sum += block[k][i] - i;
        for (int b = k; b < BLOCKS; b += 2)
            touched += (words - b + 511) / 512;
        CHECK_EQ(sum, touched);
        free(block[k]);
    }
}

int main(void)
{
    int devices = omp_get_num_devices() < DEVICES ? omp_get_num_devices() : DEVICES;
    CHECK(devices > 0);
    long before = peak(), there = peak_on(devices - 1);
    many_regions(devices);
    CHECK(peak() - before < 150);
    CHECK(peak_on(devices - 1) - there < 150);
    much_data(devices);
    CHECK(peak() - before < 400);
    CHECK(peak_on(devices - 1) - there < 400);
    return check_result();
}
