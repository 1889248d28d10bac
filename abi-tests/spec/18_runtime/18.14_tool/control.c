// what: omp_control_tool(@COMMAND@) without a tool says that there is none, @WHERE@
// languages: c, c++
// each: COMMAND ; NUMBER = start ; 1 / pause ; 2 / flush ; 3 / end ; 4 / the tool's own ; 70
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(3)")
// mode: link
// ours: the library of gcc 12 does not have it
#include "check.h"
#include "newer.h"
#ifdef __clang__
#define omp_control_tool(a, b, c) omp_control_tool((omp_control_tool_t)(a), b, c)
#endif
int main(void)
{
    @OPEN@
    for (int i = 0; i < 3; i++)
        CHECK_EQ(omp_control_tool(@NUMBER@, i, NULL), -2);
    return check_result();
}
