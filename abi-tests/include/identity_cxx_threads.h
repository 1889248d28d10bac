/* The body of identity/cxx_threads.cpp: what C++ and the C library know a thread by, and generators that
 * libraries keep per thread. Between any two draws the others of the worker run. */
#include "identity.h"
#include <mutex>
#include <random>
#include <thread>

/* A library's: seeded at its first use in a thread, from the thread's number. */
static std::mt19937 &engine(int seed)
{
    static thread_local std::mt19937 own(seed);
    return own;
}
static thread_local struct drand48_data drands;
static thread_local struct random_data randoms;
static thread_local char random_state[64];

static void draw(int id, int round, std::mt19937 &expected, struct drand48_data *drand,
                 struct random_data *random)
{
    long drawn = 0, alone = 0;
    int number = 0, also = 0;
    CHECK_EQ(engine(-1)(), expected());
    lrand48_r(&drands, &drawn);
    lrand48_r(drand, &alone);
    CHECK_EQ(drawn, alone);
    random_r(&randoms, &number);
    random_r(random, &also);
    CHECK_EQ(number, also);
    (void)id, (void)round;
}

int main()
{
    int n = omp_get_max_threads(), together = 0;
    std::thread::id ids[64];
    std::recursive_mutex twice;
    omp_set_max_active_levels(2);
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        std::thread::id self = std::this_thread::get_id();
        std::mt19937 expected(500 + id);
        struct drand48_data drand;
        struct random_data random = {};
        char state[64];
        ids[id] = self;
        engine(500 + id).seed(500 + id); /* the storage may have been another thread's */
        srand48_r(id, &drands), srand48_r(id, &drand);
        randoms = {};
        initstate_r(id + 1, random_state, sizeof random_state, &randoms),
            initstate_r(id + 1, state, sizeof state, &random);
        for (int round = 0; round < 40; round++) {
            draw(id, round, expected, &drand, &random);
#pragma omp barrier
            CHECK(std::this_thread::get_id() == self);
            std::unique_lock<std::recursive_mutex> once(twice), again(twice);
            together++;
            draw(id, round, expected, &drand, &random);
            again.unlock(), once.unlock();
#pragma omp taskyield
            draw(id, round, expected, &drand, &random);
        }
#pragma omp barrier
        /* an inner team's first thread is this one, the others are nobody here */
#pragma omp parallel num_threads(3)
        for (int i = 0; i < n; i++)
            CHECK_EQ(std::this_thread::get_id() == ids[i], omp_get_thread_num() == 0 && i == id);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            CHECK(ids[i] != ids[k]);
    CHECK_EQ(together, 40 * n);
    return check_result();
}
