// what: sections of arrays of several dimensions without gaps: @LIST@
// each: LIST ; I0 ; I1 ; J0 ; J1 = m ; 0 ; 6 ; 0 ; 8 / m[2:3] ; 2 ; 5 ; 0 ; 8 / m[4][:] ; 4 ; 5 ; 0 ; 8 / m[4][2:3] ; 4 ; 5 ; 2 ; 5 / m[1:2][:] ; 1 ; 3 ; 0 ; 8
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
        int m[6][8];
        for (int i = 0; i < 48; i++)
            m[i / 8][i % 8] = i;
#pragma omp target device(d) map(tofrom : @LIST@)
        for (int i = @I0@; i < @I1@; i++)
            for (int j = @J0@; j < @J1@; j++)
                m[i][j] += 100;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 8; j++)
                CHECK_EQ(m[i][j], i * 8 + j + (i >= @I0@ && i < @I1@ && j >= @J0@ && j < @J1@ ? 100 : 0));
    }
    return check_result();
}
