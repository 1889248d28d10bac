// what: @CLAUSE@ of a class on @CONSTRUCT@: every copy that is made is destroyed
// each: CLAUSE ; VALUE = private ; 5 / firstprivate ; 40
// each: CONSTRUCT ; OPEN ; INNER = parallel ; omp parallel @CLAUSE@(v) ; omp critical / single ; omp parallel ; omp single @CLAUSE@(v) / task ; omp parallel ; omp task @CLAUSE@(v) / sections ; omp parallel ; omp sections @CLAUSE@(v)
#include "check.h"
static int alive, copies;
struct Value {
    int x;
    Value() : x(5) { count(1); }
    Value(const Value &other) : x(other.x) { count(1); }
    ~Value() { count(-1); }
    static void count(int by)
    {
        __atomic_fetch_add(&alive, by, __ATOMIC_RELAXED);
        __atomic_fetch_add(&copies, by > 0, __ATOMIC_RELAXED);
    }
};
int main()
{
    {
        Value v;
        v.x = 40;
#pragma @OPEN@
        {
#pragma @INNER@
            {{
                CHECK(v.x == @VALUE@ || v.x == 1);
                v.x = 1;
                CHECK_EQ(v.x, 1);
            }}
        }
        CHECK_EQ(v.x, 40);
        CHECK_EQ(alive, 1);
        CHECK(copies >= 2);
    }
    CHECK_EQ(alive, 0);
    return check_result();
}
