// what: the lists of LLVM 21 and later, called as their compilers do: pointers are entries of their own, and attached
// compilers: gcc
// devices: 0,1,3
// threads: 4
// mode: link
// ours: host devices
#include "device.h"
#include <stdint.h>
extern void __tgt_target_data_begin_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *,
                                           void **, void **);
extern void __tgt_target_data_end_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *,
                                         void **, void **);
extern void __tgt_target_data_update_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *,
                                            void **, void **);
extern void *omp_get_mapped_ptr(const void *, int);
struct s {
    int n;
    double *p;
};
enum { TO = 1, FROM = 2, ALWAYS = 4, DELETE = 8, ATTACH = 0x4000 };
static void *device_word(void *host, int d)
{
    void *word = NULL;
    omp_target_memcpy(&word, omp_get_mapped_ptr(host, d), sizeof word, 0, 0, omp_get_initial_device(), d);
    return word;
}
int main(void)
{
    EACH_DEVICE(d)
    {
        double v[10] = {1}, w[10] = {2};
        struct s s = {10, v};
        void *bases[] = {&s, v, &s.p}, *begins[] = {&s, &v[2], &v[2]};
        int64_t sizes[] = {sizeof s, 5 * sizeof *v, sizeof s.p}, kinds[] = {TO | FROM, TO | FROM, ATTACH};
        __tgt_target_data_begin_mapper(NULL, d, 3, bases, begins, sizes, kinds, NULL, NULL);
        if (is_apart(d)) {
            CHECK(device_word(&s.p, d) == (char *)omp_get_mapped_ptr(&v[2], d) - 2 * sizeof *v);
            CHECK(omp_get_mapped_ptr(&v[0], d) == NULL);
        }
        // Nothing of it is new: the pointer goes on pointing to the first storage, unless told otherwise.
        void *other_bases[] = {w, &s.p}, *other_begins[] = {w, w};
        int64_t other_sizes[] = {sizeof w, sizeof s.p}, other_kinds[] = {TO, ATTACH};
        __tgt_target_data_begin_mapper(NULL, d, 1, other_bases, other_begins, other_sizes, other_kinds, NULL,
                                       NULL);
        s.p = w;
        __tgt_target_data_begin_mapper(NULL, d, 1, &other_bases[1], &other_begins[1], &other_sizes[1],
                                       &other_kinds[1], NULL, NULL);
        if (is_apart(d))
            CHECK(device_word(&s.p, d) == (char *)omp_get_mapped_ptr(&v[2], d) - 2 * sizeof *v);
        int64_t always = ATTACH | ALWAYS;
        __tgt_target_data_begin_mapper(NULL, d, 1, &other_bases[1], &other_begins[1], &other_sizes[1],
                                       &always, NULL, NULL);
        if (is_apart(d))
            CHECK(device_word(&s.p, d) == omp_get_mapped_ptr(w, d));
        s.n = 3;
        int64_t update = TO;
        __tgt_target_data_update_mapper(NULL, d, 1, bases, begins, sizes, &update, NULL, NULL);
        s.n = 0;
        __tgt_target_data_end_mapper(NULL, d, 3, bases, begins, sizes, kinds, NULL, NULL);
        CHECK_EQ(s.n, APART(d, 3, 0));
        CHECK(s.p == w);
        CHECK_EQ(omp_target_is_present(&s, d), !is_apart(d));
        CHECK_EQ(omp_target_is_present(w, d), 1);
        int64_t gone = DELETE;
        __tgt_target_data_end_mapper(NULL, d, 1, other_bases, other_begins, other_sizes, &gone, NULL, NULL);
        CHECK_EQ(omp_target_is_present(w, d), !is_apart(d));
    }
    return check_result();
}
