// what: omp_target_memcpy_rect@KIND@ in @DIMS@ dimensions copies a box of 2 x 3 x 4 at its offsets and nothing else
// languages: c, c++
// each: KIND ; LAST ; ASK ; WAIT = ; ) ; ) ; (void)0; / _async ; , 0, NULL) ; , 0, NULL) ; _Pragma("omp taskwait")
// each: DIMS ; FIRST = 3 ; 0 / 2 ; 1 / 1 ; 2
// each: AT ; TO ; FROM = the corner ; 0 ; 0 / inside ; 1 ; 2 / elsewhere ; 2 ; 1
// mode: link
// ours: other runtimes have these routines in another library or not at all
#include "check.h"
#include "newer.h"
int main(void)
{
    static int to[5][6][8], from[6][7][9];
    size_t volume[3] = {2, 3, 4}, to_at[3] = {@TO@, @TO@, @TO@}, from_at[3] = {@FROM@, @FROM@, @FROM@};
    size_t to_dims[3] = {5, 6, 8}, from_dims[3] = {6, 7, 9};
    int host = omp_get_initial_device();
    for (int i = 0; i < 6 * 7 * 9; i++)
        (&from[0][0][0])[i] = 1000 + i;
    for (int k = 0; k < @FIRST@; k++) {
        volume[k] = 1;
        to_at[k] = from_at[k] = 0;
    }
    CHECK_EQ(omp_target_memcpy_rect@KIND@(to, from, sizeof(int), @DIMS@, volume + @FIRST@, to_at + @FIRST@, from_at + @FIRST@, to_dims + @FIRST@, from_dims + @FIRST@, host, host@LAST@, 0);
    @WAIT@
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t k = 0; k < 8; k++) {
                int inside = i - to_at[0] < volume[0] && j - to_at[1] < volume[1] && k - to_at[2] < volume[2];
                CHECK_EQ(to[i][j][k], inside ? from[i - to_at[0] + from_at[0]][j - to_at[1] + from_at[1]][k - to_at[2] + from_at[2]] : 0);
            }
    CHECK(omp_target_memcpy_rect@KIND@(NULL, NULL, sizeof(int), 0, NULL, NULL, NULL, NULL, NULL, host, host@ASK@ >= 3);
    return check_result();
}
