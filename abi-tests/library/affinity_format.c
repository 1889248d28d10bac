// what: omp_set/get_affinity_format and omp_capture_affinity
#include "check.h"
int main(void)
{
    char buffer[200];
    omp_set_affinity_format("level %L thread %n of %N, [%5n] [%.5n]");
    size_t length = omp_get_affinity_format(buffer, sizeof buffer);
    CHECK_EQ(length, strlen("level %L thread %n of %N, [%5n] [%.5n]"));
    CHECK_EQ(strcmp(buffer, "level %L thread %n of %N, [%5n] [%.5n]"), 0);
#pragma omp parallel
    {
        char mine[200], want[200];
        int id = omp_get_thread_num();
        size_t size = omp_capture_affinity(mine, sizeof mine, NULL);
        snprintf(want, sizeof want, "level 1 thread %d of %d, [%-5d] [%5d]", id, omp_get_num_threads(), id,
                 id);
        CHECK_EQ(strcmp(mine, want), 0);
        CHECK_EQ(size, strlen(want));
    }
    char small[5];
    CHECK(omp_capture_affinity(small, sizeof small, "%%-%{nesting_level}-%n!") == strlen("%-0-0!"));
    CHECK_EQ(strcmp(small, "%-0-"), 0);
    return check_result();
}
