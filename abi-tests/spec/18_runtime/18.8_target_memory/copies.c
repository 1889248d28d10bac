// what: omp_target_memcpy@KIND@ of @COUNT@ on the host, offsets @TO@ and @FROM@
// languages: c, c++
// each: KIND ; LAST ; WAIT = ; ) ; (void)0; / _async ; , 0, NULL) ; _Pragma("omp taskwait")
// each: COUNT = 0 / 1 / 4000
// each: TO ; FROM = 0 ; 0 / 16 ; 3 / 5 ; 64
// mode: link
// ours: other runtimes have these routines in another library or not at all
#include "check.h"
#include "newer.h"
int main(void)
{
    int host = omp_get_initial_device();
    char *to = (char *)omp_target_alloc(5000, host), *from = (char *)omp_target_alloc(5000, host);
    CHECK(to && from);
    for (int i = 0; i < 5000; i++) {
        to[i] = 1;
        from[i] = (char)(i % 100);
    }
    CHECK_EQ(omp_target_memcpy@KIND@(to, from, @COUNT@, @TO@, @FROM@, host, host@LAST@, 0);
    @WAIT@
    for (int i = 0; i < 5000; i++)
        CHECK_EQ(to[i], i >= @TO@ && i < @TO@ + @COUNT@ ? (char)((i - @TO@ + @FROM@) % 100) : 1);
    CHECK(omp_target_memcpy@KIND@(to, from, 4, 0, 0, host + 9, host@LAST@ != 0);
    CHECK(omp_target_memcpy@KIND@(to, from, 4, 0, 0, host, -9@LAST@ != 0);
    omp_target_free(to, host);
    omp_target_free(from, host);
    omp_target_free(NULL, host);
    return check_result();
}
