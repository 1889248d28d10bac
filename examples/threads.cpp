// Threads of C++ that each use OpenMP, tasks that throw and catch, and a task switch inside of a catch block.
#include <cstdio>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int caught_by_tasks()
{
    int caught = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i) shared(caught)
        try {
            throw std::runtime_error(std::to_string(i));
        } catch (const std::runtime_error &error) {
#pragma omp taskyield
            if (error.what() == std::to_string(i)) {
#pragma omp atomic
                caught++;
            }
        }
    }
    return caught;
}

int main()
{
    std::vector<int> caught(4);
    std::vector<std::thread> threads;
    for (auto &count : caught)
        threads.emplace_back([&count] { count = caught_by_tasks(); });
    for (auto &thread : threads)
        thread.join();
    int sum = 0;
    for (int count : caught)
        sum += count;
    std::printf("%d exceptions caught where they belong, of 80\n", sum);
    return sum != 80;
}
