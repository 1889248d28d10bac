// C++ exceptions in regions, tasks, loops and sections, over task switches in handlers, and those that
// escape; destructors of thread_local objects.
#include "life.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
static std::string text(int i)
{
    return "number " + std::to_string(i) + ", long enough for the heap";
}
static bool thrown(int i)
{
    try {
        throw std::runtime_error(text(i));
    } catch (const std::exception &e) {
        return e.what() == text(i);
    }
}
static int in_region()
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : right)
    {
        right += thrown(omp_get_thread_num());
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == size;
}
static int in_loop()
{
    int right = 0;
#pragma omp parallel for num_threads(TEAM) schedule(dynamic) reduction(+ : right)
    for (int i = 0; i < 200; i++)
        right += thrown(i);
    return right == 200;
}
static int in_sections()
{
    int right = 0;
#pragma omp parallel sections num_threads(TEAM) reduction(+ : right)
    {
#pragma omp section
        right += thrown(1);
#pragma omp section
        right += thrown(2);
#pragma omp section
        right += thrown(3);
    }
    return right == 3;
}
// Tasks that switch to others within their handlers: by taskyield, taskwait or a taskgroup's end.
enum Switch { YIELD, WAIT, GROUP };
static int caught(Switch how)
{
    int right = 0;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 200; i++)
#pragma omp task shared(right) firstprivate(i)
    {
        bool mine = false;
        try {
            throw std::runtime_error(text(i));
        } catch (const std::exception &e) {
            if (how == YIELD) {
#pragma omp taskyield
            } else if (how == WAIT) {
#pragma omp task
                (void)thrown(-i);
#pragma omp taskwait
            } else {
#pragma omp taskgroup
#pragma omp task
                (void)thrown(-i);
            }
            try {
                throw;
            } catch (const std::exception &again) {
                mine = again.what() == text(i) && e.what() == text(i) && std::current_exception() != nullptr;
            }
        }
        mine = mine && std::current_exception() == nullptr;
#pragma omp atomic
        right += mine;
    }
    return right == 200;
}
static int yield_in_catch()
{
    return caught(YIELD);
}
static int wait_in_catch()
{
    return caught(WAIT);
}
static int group_in_catch()
{
    return caught(GROUP);
}
struct Unwinding {
    int &right;
    int before = std::uncaught_exceptions();
    ~Unwinding()
    {
        bool well = std::uncaught_exceptions() == before + 1;
#pragma omp task
        (void)thrown(1);
#pragma omp taskwait
        well = well && std::uncaught_exceptions() == before + 1;
#pragma omp atomic
        right += well;
    }
};
static int uncaught()
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(TEAM)
    {
        try {
            Unwinding here{right};
            throw 1;
        } catch (int) {
        }
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == size && std::uncaught_exceptions() == 0;
}
static int nested_in_catch()
{
    int right = 0, size = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        try {
            throw std::runtime_error(text(me));
        } catch (const std::exception &) {
            bool inner = region() && in_region();
            try {
                throw;
            } catch (const std::exception &again) {
                inner = inner && again.what() == text(me);
            }
#pragma omp atomic
            right += inner;
        }
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == size;
}
static int carried_out()
{
    std::exception_ptr out;
#pragma omp parallel num_threads(TEAM) shared(out)
    try {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            throw std::runtime_error(text(3));
    } catch (...) {
        out = std::current_exception();
    }
    try {
        std::rethrow_exception(out);
    } catch (const std::exception &e) {
        return e.what() == text(3) && region();
    }
}
static void terminates()
{
    puts("terminate");
    fflush(stdout);
    abort();
}
static int escapes_region()
{
    std::set_terminate(terminates);
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        throw 1;
    return 0;
}
static int escapes_task()
{
    std::set_terminate(terminates);
#pragma omp parallel num_threads(TEAM)
#pragma omp single
#pragma omp task
    throw 1;
    return 0;
}
static int at_end;
struct Runs {
    int value = 0;
    ~Runs()
    {
        at_end = region() && tasks();
    }
};
static thread_local Runs runs;
static int thread_local_destructor()
{
    bool right = false;
    std::thread([&] {
        runs.value = 1;
        right = region();
    }).join();
    return right && at_end && region();
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"in_region", in_region},
                                        {"in_loop", in_loop},
                                        {"in_sections", in_sections},
                                        {"yield_in_catch", yield_in_catch},
                                        {"wait_in_catch", wait_in_catch},
                                        {"group_in_catch", group_in_catch},
                                        {"uncaught", uncaught},
                                        {"nested_in_catch", nested_in_catch},
                                        {"carried_out", carried_out},
                                        {"escapes_region", escapes_region},
                                        {"escapes_task", escapes_task},
                                        {"thread_local_destructor", thread_local_destructor},
                                        {nullptr, nullptr}};
    return life(argc, argv, cases);
}
