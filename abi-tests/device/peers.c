// what: copies from device to device, around and around: @COUNT@ numbers
// each: COUNT = 1 / 17 / 1000 / 5000 / 30000 / 100000
// compilers: clang>=19
// offload: yes
// devices: 2,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
enum { COUNT = @COUNT@, ROUNDS = 7 };
int main(void)
{
    int devices = omp_get_num_devices(), *blocks[8], *a = malloc(COUNT * sizeof *a);
    size_t size = COUNT * sizeof *a;
    for (int d = 0; d < devices; d++)
        blocks[d] = omp_target_alloc(size, d);
    for (int i = 0; i < COUNT; i++)
        a[i] = i;
    CHECK_EQ(omp_target_memcpy(blocks[0], a, size, 0, 0, 0, omp_get_initial_device()), 0);
    for (int round = 0; round < ROUNDS * devices; round++) {
        int d = round % devices, next = (d + 1) % devices, *block = blocks[d];
#pragma omp target is_device_ptr(block) device(d)
        for (int i = 0; i < COUNT; i++)
            block[i] += 3;
        CHECK_EQ(omp_target_memcpy(blocks[next], block, size, 0, 0, next, d), 0);
        /* What happens to the source now is not seen there. */
#pragma omp target is_device_ptr(block) device(d)
        for (int i = 0; i < COUNT; i++)
            block[i] = -1;
    }
    CHECK_EQ(omp_target_memcpy(a, blocks[0], size, 0, 0, omp_get_initial_device(), 0), 0);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += a[i] != i + 3 * ROUNDS * devices;
    CHECK_EQ(wrong, 0);
    for (int d = 0; d < devices; d++)
        omp_target_free(blocks[d], d);
    free(a);
    return check_result();
}
