// what: target update @WAY@(@LIST@), which has gaps, copies that and nothing else
// each: LIST ; IN = m[2:3][4:2] ; i >= 2 && i < 5 && j >= 4 && j < 6 / m[1:5][0:1] ; i >= 1 && i < 6 && j == 0 / m[0:3:2][0:4] ; i % 2 == 0 && i < 5 && j < 4 / m[0:2:3][0:3:2] ; (i == 0 || i == 3) && (j == 0 || j == 2 || j == 4) / m[0:6][0:4:2] ; j % 2 == 0 / m[3:3][7:1] ; i >= 3 && j == 7 / m[5:1][1:7:1] ; i == 5 && j >= 1
// each: WAY = to / from
// compilers: clang>=19
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    EACH_DEVICE(d)
    {
        int m[6][8], there[6][8];
        for (int i = 0; i < 48; i++)
            m[i / 8][i % 8] = 1;
#pragma omp target enter data device(d) map(to : m)
        for (int i = 0; i < 48; i++)
            m[i / 8][i % 8] = 2;
#pragma omp target update device(d) @WAY@(@LIST@)
#pragma omp target device(d) map(alloc : m) map(from : there)
        for (int i = 0; i < 48; i++)
            there[i / 8][i % 8] = m[i / 8][i % 8];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 8; j++) {
                int in = @IN@, to = "@WAY@"[0] == 't';
                CHECK_EQ(m[i][j], APART(d, !to && in ? 1 : 2, 2));
                CHECK_EQ(there[i][j], APART(d, to && in ? 2 : 1, 2));
            }
#pragma omp target exit data device(d) map(delete : m)
    }
    return check_result();
}
