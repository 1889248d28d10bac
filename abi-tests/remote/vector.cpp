// what: the same from C++: functions of C++, exceptions that a function catches itself, objects sent as bytes
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"
#include <stdexcept>
#include <vector>

static void norm(const void *args, size_t bytes, ompx_result_t *result)
{
    const double *x = static_cast<const double *>(args);
    std::vector<double> v(x, x + bytes / sizeof *x);
    double sum = 0;
    try {
        for (double e : v) {
            if (e < 0)
                throw std::runtime_error("negative");
            sum += e * e;
        }
    } catch (const std::runtime_error &) {
        sum = -1;
    }
    ompx_result_set(result, &sum, sizeof sum);
}

int main()
{
    std::vector<ompx_future_t> futures(50);
    for (size_t i = 0; i < futures.size(); i++) {
        std::vector<double> v(i + 1, i % 10 == 9 ? -1.0 : 2.0);
        CHECK_EQ(ompx_invoke(0, norm, v.data(), v.size() * sizeof v[0], &futures[i]), 0);
    }
    for (size_t i = 0; i < futures.size(); i++) {
        double sum = 0;
        CHECK_EQ(ompx_future_get(futures[i], &sum, sizeof sum), 0);
        CHECK_EQ(sum, i % 10 == 9 ? -1.0 : 4.0 * (i + 1));
        CHECK_EQ(ompx_future_free(futures[i]), 0);
    }
    return check_result();
}
