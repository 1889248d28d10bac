// what: copyin into every thread's copy, copyprivate out of one, and the copies are apart afterwards
// threads: 4,8,17
#include "identity.h"
static int number;
static struct {
    double weight;
    int parts[20];
} record;
#pragma omp threadprivate(number, record)
static void expect(int value, int part)
{
    CHECK_EQ(number, value);
    CHECK_EQ(record.parts[19], part);
    CHECK(record.weight == value + 0.25);
}
int main(void)
{
    for (int round = 1; round <= 10; round++) {
        number = round;
        record.weight = round + 0.25;
        record.parts[19] = 7 * round;
#pragma omp parallel copyin(number, record)
        {
            int id = omp_get_thread_num();
            expect(round, 7 * round);
#pragma omp barrier
            number = 50 * round + id;
            record.weight = number + 0.25;
            record.parts[19] = id;
#pragma omp barrier
            expect(50 * round + id, id);
#pragma omp single copyprivate(number, record)
            {
                number = 3000 + round;
                record.weight = number + 0.25;
                record.parts[19] = -round;
            }
            expect(3000 + round, -round);
            number += id;
#pragma omp barrier
            CHECK_EQ(number, 3000 + round + id);
        }
    }
    return check_result();
}
