// what: reduction(@OP@) of @TYPE@ from its identity and with an old value
// languages: c, c++
// each: OP ; VALUE ; START = & ; ~(1u << (i % 5)) ; 0x7f / | ; 1u << (i % 6) ; 0x40 / ^ ; i * 37 ; 0x55
// each: TYPE = int / unsigned char / short / unsigned long long
#include "check.h"
enum { N = 67 };
int main(void)
{
    @TYPE@ want = (@TYPE@)@START@, got = (@TYPE@)@START@;
    for (int i = 0; i < N; i++)
        want = (@TYPE@)(want @OP@ (@TYPE@)(@VALUE@));
#pragma omp parallel for reduction(@OP@ : got) schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        got = (@TYPE@)(got @OP@ (@TYPE@)(@VALUE@));
    CHECK_EQ(got, want);
    CHECK(want != (@TYPE@)@START@);
    return check_result();
}
