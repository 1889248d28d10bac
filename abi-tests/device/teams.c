// what: teams inside of a region on a device: number, thread limit, and a loop over all of them
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, which has no league
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#pragma omp declare target
static __attribute__((noinline)) int thread_limit(void)
{
    return omp_get_thread_limit();
}
#pragma omp end declare target
int main(void)
{
    EACH_DEVICE(d)
    {
        int teams = 0, limit = 0, seen[4] = {0, 0, 0, 0}, v[64];
        for (int i = 0; i < 64; i++)
            v[i] = i;
#pragma omp target teams device(d) num_teams(4) thread_limit(3) map(tofrom : teams, limit, seen)
        {
            seen[omp_get_team_num()]++;
            if (omp_get_team_num() == 3) {
                teams = omp_get_num_teams();
                limit = thread_limit();
            }
        }
        CHECK_EQ(teams, 4);
        CHECK_EQ(limit, 3);
        CHECK_EQ(seen[0] + 10 * seen[1] + 100 * seen[2] + 1000 * seen[3], 1111);
#pragma omp target teams distribute parallel for device(d) map(tofrom : v)
        for (int i = 0; i < 64; i++)
            v[i] = v[i] * v[i];
        for (int i = 0; i < 64; i++)
            CHECK_EQ(v[i], i * i);
        int most = 0;
#pragma omp target device(d) thread_limit(2) map(from : most)
#pragma omp parallel num_threads(8)
#pragma omp single
        most = omp_get_num_threads();
        CHECK(most >= 1 && most <= 2);
    }
    return check_result();
}
