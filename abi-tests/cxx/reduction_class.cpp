// what: reductions over classes with constructors and destructors, by operator and by declare reduction
#include "check.h"
#include <vector>
#include <string>
static int alive;
struct counted {
    std::vector<int> items;
    counted()
    {
        __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
    }
    counted(const counted &other) : items(other.items)
    {
        __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
    }
    ~counted()
    {
        __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
    }
    counted &operator+=(const counted &other)
    {
        items.insert(items.end(), other.items.begin(), other.items.end());
        return *this;
    }
};
#pragma omp declare reduction(+ : counted : omp_out += omp_in)
#pragma omp declare reduction(join : std::string : omp_out += omp_in)
int main()
{
    {
        counted all;
        std::string text;
#pragma omp parallel for reduction(+ : all) reduction(join : text)
        for (int i = 0; i < 500; i++) {
            all.items.push_back(i);
            text += 'x';
        }
        long sum = 0;
        for (int item : all.items)
            sum += item;
        CHECK_EQ(all.items.size(), 500);
        CHECK_EQ(sum, 124750);
        CHECK_EQ(text.size(), 500);
        counted tasks;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : tasks)
        for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : tasks) firstprivate(i)
            tasks.items.push_back(i);
        }
        CHECK_EQ(tasks.items.size(), 100);
    }
    CHECK_EQ(alive, 0);
    return check_result();
}
