// what: an allocator of the @SPACE@ space with @TRAIT@ = @VALUE@ gives memory, @WHO@
// languages: c, c++
// each: SPACE ; PEER = default ; none / large_cap ; none / const ; none / high_bw ; libgomp / low_lat ; none
// each: SETTING ; TRAIT ; VALUE = sync_hint contended ; sync_hint ; contended / sync_hint uncontended ; sync_hint ; uncontended / sync_hint serialized ; sync_hint ; serialized / sync_hint private ; sync_hint ; private / access all ; access ; all / access cgroup ; access ; cgroup / access pteam ; access ; pteam / access thread ; access ; thread / pinned false ; pinned ; false / partition environment ; partition ; environment / partition nearest ; partition ; nearest / partition blocked ; partition ; blocked / partition interleaved ; partition ; interleaved / fallback default_mem_fb ; fallback ; default_mem_fb / fallback null_fb ; fallback ; null_fb / fallback abort_fb ; fallback ; abort_fb
// each: WHO ; OPEN = to one thread ; (void)0; / to the threads of a region, each its own ; _Pragma("omp parallel num_threads(3)")
// skip: clang<19 has an older omp.h than the one borrowed
// peers: @PEER@ fails, because it makes no allocator for it without memkind
// peers: libomp fails, because it knows the traits of its memkind only
#include "check.h"
int main(void)
{
    int serial = !strcmp("@VALUE@", "private") || !strcmp("@VALUE@", "thread");
    @OPEN@
    {
        omp_alloctrait_t traits[] = {{omp_atk_@TRAIT@, omp_atv_@VALUE@}};
        omp_allocator_handle_t allocator = omp_init_allocator(omp_@SPACE@_mem_space, 1, traits);
        CHECK(allocator != omp_null_allocator);
        char *a = (char *)omp_alloc(300, allocator), *b = (char *)omp_calloc(10, 30, allocator);
        CHECK(a && b && a != b);
        if (a && b) {
            memset(a, 1 + serial, 300);
            CHECK_EQ(b[0] | b[299], 0);
            CHECK_EQ(a[299], 1 + serial);
        }
        omp_free(a, allocator);
        omp_free(b, omp_null_allocator);
        omp_destroy_allocator(allocator);
    }
    return check_result();
}
