/* The body of spin/pipe*.c: one thread sits in read(2) while the others get on. */
#include "check.h"
#include "spin.h"
#include <unistd.h>
int main(void)
{
    int n = omp_get_max_threads(), ends[2];
    omp_lock_t lock;
    omp_init_lock(&lock);
    CHECK_EQ(pipe(ends), 0);
    for (int reader = 0; reader < n; reader++) {
        int passed = 0, byte = 0, writer = (reader + n - 1) % n;
#pragma omp parallel shared(passed, byte)
        {
            int id = omp_get_thread_num();
            if (id == reader) {
                char got = 0;
                CHECK_EQ(read(ends[0], &got, 1), 1);
                byte = got;
                CHECK_EQ(LOAD(passed), n - 1);
            } else {
                for (int i = 0; i < 20; i++) {
                    omp_set_lock(&lock);
                    passed += i == 19;
                    omp_unset_lock(&lock);
                }
                if (id == writer) {
                    SPIN_UNTIL(LOAD(passed) == n - 1);
                    CHECK_EQ(write(ends[1], "x", 1), 1);
                }
            }
#pragma omp barrier
            CHECK_EQ(byte, 'x');
        }
    }
    omp_destroy_lock(&lock);
    return check_result();
}
