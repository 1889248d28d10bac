// what: @SPACE@ memory: omp_alloc, aligned, zeroed and grown, of @SIZE@ bytes
// languages: c, c++
// each: SPACE = default / large_cap / const / high_bw / low_lat / cgroup / pteam / thread
// each: SIZE = 1 / 4096 / 1000003
#include "check.h"
int main(void)
{
    omp_allocator_handle_t kind = omp_@SPACE@_mem_alloc;
    size_t size = @SIZE@;
    char *plain = (char *)omp_alloc(size, kind), *zeroed = (char *)omp_calloc(size, 1, kind);
    char *aligned = (char *)omp_aligned_alloc(256, (size + 255) & ~(size_t)255, kind);
    CHECK(plain && zeroed && aligned);
    if (!plain || !zeroed || !aligned)
        return check_result();
    CHECK_EQ((size_t)aligned % 256, 0);
    memset(plain, 7, size);
    memset(aligned, 9, size);
    for (size_t i = 0; i < size; i += 1 + size / 50)
        CHECK_EQ(zeroed[i], 0);
    char *grown = (char *)omp_realloc(plain, 2 * size, kind, kind);
    CHECK(grown && grown[0] == 7 && grown[size - 1] == 7);
    omp_free(grown, kind);
    omp_free(zeroed, omp_null_allocator);
    omp_free(aligned, kind);
    omp_free(NULL, kind);
    return check_result();
}
