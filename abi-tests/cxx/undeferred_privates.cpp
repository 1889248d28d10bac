// what: objects that are firstprivate to undeferred tasks are destroyed when the task ends
#include "check.h"
static int alive;
struct Counted {
    int value;
    explicit Counted(int v) : value(v)
    {
#pragma omp atomic
        alive++;
    }
    Counted(const Counted &other) : value(other.value)
    {
#pragma omp atomic
        alive++;
    }
    ~Counted()
    {
#pragma omp atomic
        alive--;
    }
};
int main()
{
    int sum = 0;
    {
        Counted object(1);
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task if (0) firstprivate(object) shared(sum)
            sum += object.value;
#pragma omp task firstprivate(object) shared(sum)
#pragma omp atomic
            sum += object.value;
        }
    }
    CHECK_EQ(sum, 20);
    CHECK_EQ(alive, 0);
    return check_result();
}
