// what: threads that map the same storage at the same time count right, and find it filled
// offload: yes
// devices: 0,1,3
// threads: 2,4,17
// mode: preload
// ours: host devices
#include "device.h"
enum { ROUNDS = 100, N = 1000 };
int main(void)
{
    EACH_DEVICE(d)
    {
        int *table = malloc(N * sizeof *table);
        long bad = 0;
        for (int i = 0; i < N; i++)
            table[i] = i;
#pragma omp parallel reduction(+ : bad)
        for (int r = 0; r < ROUNDS; r++) {
            long sum = 0;
#pragma omp target device(d) map(to : table[0 : N]) map(tofrom : sum)
            for (int i = 0; i < N; i++)
                sum += table[i];
            bad += sum != (long)N * (N - 1) / 2;
        }
        CHECK_EQ(bad, 0);
        CHECK_EQ(omp_target_is_present(table, d), !is_apart(d));
        free(table);
    }
    return check_result();
}
