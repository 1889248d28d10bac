/* The body of identity/exceptions*.cpp. */
#include "check.h"
#include <exception>
#include <stdexcept>
#include <string>
struct leaving { /* its destructor runs while an exception is on its way */
    int *seen;
    ~leaving()
    {
        *seen = std::uncaught_exceptions();
    }
};
static void thrower(int value, int *seen)
{
    leaving guard{seen};
    throw std::runtime_error(std::to_string(value));
}
static void round_of(int id, int round)
{
    int value = 100 * id + round, seen = -1, inner = 0;
    try {
        try {
            thrower(value, &seen);
        } catch (const std::runtime_error &error) {
#pragma omp barrier
            CHECK_EQ(std::stoi(error.what()), value);
            try {
                throw value;
            } catch (int number) {
#pragma omp barrier
                inner = number;
            }
#pragma omp barrier
            throw; /* still the first one */
        }
    } catch (const std::exception &error) {
#pragma omp barrier
        CHECK_EQ(std::stoi(error.what()), value);
        CHECK(std::current_exception() != nullptr);
#pragma omp critical
        CHECK_EQ(std::uncaught_exceptions(), 0);
    }
    CHECK_EQ(seen, 1);
    CHECK_EQ(inner, value);
    CHECK(std::current_exception() == nullptr);
}
int main()
{
#pragma omp parallel
    for (int round = 0; round < 10; round++)
        round_of(omp_get_thread_num(), round);
    return check_result();
}
