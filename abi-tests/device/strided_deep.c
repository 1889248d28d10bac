// what: updates of a block in three dimensions; clang 19 itself takes strides in one dimension for none, and offsets times strides
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
        short c[4][5][6];
        for (int i = 0; i < 120; i++)
            c[i / 30][i / 6 % 5][i % 6] = i;
#pragma omp target enter data device(d) map(to : c)
        memset(c, 0, sizeof c);
#pragma omp target update device(d) from(c[1 : 2][2 : 2][3 : 3])
        for (int i = 0; i < 120; i++) {
            int x = i / 30, y = i / 6 % 5, z = i % 6;
            int in = x >= 1 && x < 3 && y >= 2 && y < 4 && z >= 3;
            CHECK_EQ(c[x][y][z], is_apart(d) && in ? i : 0);
        }
#pragma omp target exit data device(d) map(delete : c)
    }
    return check_result();
}
