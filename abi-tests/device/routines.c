// what: omp_target_alloc, memcpy, memcpy_rect, memset, associate_ptr and what they tell, between all devices
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#include <errno.h>
extern void *omp_target_memset(void *, int, size_t, int) __attribute__((weak));
extern void *omp_get_mapped_ptr(const void *, int) __attribute__((weak));
static void copies(int to, int from)
{
    int a[20], b[20];
    for (int i = 0; i < 20; i++)
        a[i] = i, b[i] = -1;
    int *p = omp_target_alloc(sizeof a, from), *q = omp_target_alloc(sizeof a, to),
        host = omp_get_initial_device();
    CHECK(p && q && p != q);
    CHECK_EQ(omp_target_memcpy(p, a, sizeof a, 0, 0, from, host), 0);
    CHECK_EQ(omp_target_memcpy(q, b, sizeof a, 0, 0, to, host), 0);
    CHECK_EQ(omp_target_memcpy(q, p, 40, 8, 20, to, from), 0);
    CHECK_EQ(omp_target_memcpy(b, q, sizeof b, 0, 0, host, to), 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(b[i], i >= 2 && i < 12 ? i + 3 : -1);
    size_t volume[2] = {2, 3}, to_at[2] = {1, 0}, from_at[2] = {0, 2}, to_size[2] = {5, 4},
           from_size[2] = {4, 5};
    CHECK_EQ(
        omp_target_memcpy_rect(q, p, sizeof(int), 2, volume, to_at, from_at, to_size, from_size, to, from),
        0);
    CHECK_EQ(omp_target_memcpy(b, q, sizeof b, 0, 0, host, to), 0);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            CHECK_EQ(b[(i + 1) * 4 + j], i * 5 + j + 2);
    CHECK_EQ(b[7], 10);
    omp_target_free(p, from);
    omp_target_free(q, to);
    omp_target_free(NULL, to);
}
static void association(int d)
{
    int a[10] = {5, 6, 7}, seen = 0, apart = is_apart(d);
    int *p = omp_target_alloc(sizeof a, d);
    int ones[10];
    memset(ones, 1, sizeof ones);
    if (omp_target_memset)
        CHECK(omp_target_memset(p, 1, sizeof a, d) == p);
    else
        CHECK_EQ(omp_target_memcpy(p, ones, sizeof a, 0, 0, d, omp_get_initial_device()), 0);
    CHECK_EQ(omp_target_associate_ptr(a, p, sizeof a, 0, d), apart ? 0 : EINVAL);
    if (apart) {
        CHECK_EQ(omp_target_associate_ptr(a, p, sizeof a, 0, d), 0);
        CHECK_EQ(omp_target_associate_ptr(a, p, sizeof a / 2, 0, d), EINVAL);
        CHECK_EQ(omp_target_is_present(&a[9], d), 1);
        if (omp_get_mapped_ptr)
            CHECK(omp_get_mapped_ptr(&a[2], d) == (void *)&p[2]);
#pragma omp target device(d) map(tofrom : a) map(from : seen)
        {
            seen = a[1];
            a[1] = 99;
        }
        CHECK_EQ(seen, 0x01010101);
        CHECK_EQ(a[1], 6);
#pragma omp target update device(d) from(a)
        CHECK_EQ(a[1], 99);
#pragma omp target exit data device(d) map(delete : a)
        CHECK_EQ(omp_target_is_present(a, d), 1);
        CHECK_EQ(omp_target_disassociate_ptr(a, d), 0);
    }
    CHECK_EQ(omp_target_disassociate_ptr(a, d), EINVAL);
    CHECK_EQ(omp_target_is_present(a, d), !apart);
    omp_target_free(p, d);
}
int main(void)
{
    int none = omp_get_num_devices() + 1;
    EACH_DEVICE(to)
    {
        EACH_DEVICE(from)
        copies(to, from);
        association(to);
        CHECK(omp_target_alloc(0, to) == NULL);
        CHECK_EQ(omp_target_memcpy(NULL, NULL, 0, 0, 0, to, to), 0);
    }
    int x = 0;
    CHECK(omp_target_alloc(8, none) == NULL);
    CHECK_EQ(omp_target_is_present(&x, none), 0);
    CHECK_EQ(omp_target_memcpy(&x, &x, 4, 0, 0, none, 0), EINVAL);
    return check_result();
}
