// what: C++ exceptions in regions and tasks where the C++ library was loaded privately, with a wait inside the catch
#include "check.h"
#include <stdexcept>
#include <string>
extern "C" int check()
{
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
            int id = omp_get_thread_num(), got = -1;
            try {
                try {
                    throw std::runtime_error(std::to_string(id));
                } catch (const std::exception &) {
#pragma omp barrier
#pragma omp task
                    {
                        try {
                            throw std::string("other");
                        } catch (const std::string &) {
                        }
                    }
#pragma omp taskwait
#pragma omp critical
                    {
#pragma omp taskyield
                    }
                    throw;
                }
            } catch (const std::runtime_error &error) {
                got = std::stoi(error.what());
            }
            CHECK_EQ(got, id);
        }
    }
    return check_result();
}
