// what: ompx.h from C++; counters read while regions run elsewhere, and by a thread that never met OpenMP
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"
#include <atomic>
#include <thread>
#include <type_traits>

static_assert(std::is_standard_layout<ompx_counters_t>::value, "the library writes it byte by byte");

static ompx_counters_t read_counters()
{
    ompx_counters_t counters = {};
    CHECK_EQ(ompx_get_counters(&counters, sizeof counters), sizeof counters);
    return counters;
}

int main()
{
    const int regions = 2000;
    std::atomic<bool> done{false};
    const uint64_t before = read_counters().regions;
    std::thread reader([&] {
        uint64_t last = 0;
        do {
            uint64_t now = read_counters().regions;
            CHECK(now >= last);
            last = now;
        } while (!done);
    });
    int sum = 0;
    for (int i = 0; i < regions; i++) {
#pragma omp parallel reduction(+ : sum)
        sum++;
    }
    done = true;
    reader.join();
    CHECK_EQ(sum, regions * omp_get_max_threads());
    CHECK_EQ(read_counters().regions - before, regions);
    return check_result();
}
