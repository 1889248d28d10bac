// Switches where C++ keeps state per kernel thread: inside a handler, and while an exception is in flight.
#include <exception>

typedef void (*Yield)(void *);

extern "C" int catch_and_rethrow(int mine, Yield yield, void *arg)
{
    try {
        try {
            throw mine;
        } catch (int) {
            yield(arg);
            try {
                throw mine + 1000;
            } catch (int inner) {
                yield(arg);
                if (inner != mine + 1000)
                    return -1;
            }
            throw;
        }
    } catch (int got) {
        return got;
    }
}

namespace {
struct Guard {
    Yield yield;
    void *arg;
    int *seen;
    ~Guard()
    {
        int before = std::uncaught_exceptions();
        yield(arg);
        *seen = before * 10 + std::uncaught_exceptions();
    }
};
} // namespace

// The count of exceptions in flight before and after a switch during unwinding: 11 if it is this stack's own.
extern "C" int yield_in_flight(int, Yield yield, void *arg)
{
    int seen = -1;
    try {
        Guard guard = {yield, arg, &seen};
        throw 1;
    } catch (int) {
        return seen;
    }
}
