// what: omp_pause_resource_all ends the threads of the program's teams: destructors of thread_local objects and of pthread_key_create have run when it returns, once per thread, and may call routines
// compilers: g++, clang++>=19
// threads: 2,3,6,17
// peers: libomp fails, because it ends no threads there; libgomp fails, because one of the threads may still be at it

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

static std::atomic<int> made, destroyed, keys, wrong;

struct Object {
    int value = 7;
    Object() { made++; }
    ~Object() {
        destroyed++;
        if (value < 7 || omp_in_parallel() || omp_get_thread_num() != 0) wrong++;
        value = -1;
    }
};
static thread_local Object object;
static pthread_key_t key;
static void of_key(void *) { keys++; }

static int region(int threads) {
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    {
        count += object.value >= 7;
        object.value++;
        pthread_setspecific(key, &key);
#pragma omp barrier
    }
    return count;
}

static void expect(const char *what, int is, int should_be) {
    if (is != should_be) {
        printf("%s: %d, not %d\n", what, is, should_be);
        exit(1);
    }
}

int main() {
    const int threads = omp_get_max_threads();
    omp_set_dynamic(0);
    pthread_key_create(&key, of_key);
    for (int cycle = 1; cycle <= 3; cycle++) {
        for (int i = 0; i < 3; i++) expect("threads with an object", region(threads), threads);
        std::thread other([&] { expect("threads of another team", region(threads), threads); });
        other.join();
        expect("omp_pause_resource_all", omp_pause_resource_all(omp_pause_hard), 0);
        /* All but the one of the thread that goes on. The other thread and the threads of its team have ended, too. */
        expect("objects made", made, 1 + cycle * (2 * threads - 1));
        expect("objects destroyed", destroyed, cycle * (2 * threads - 1));
        expect("values of keys destroyed", keys, cycle * (2 * threads - 1));
        expect("objects found wrong", wrong, 0);
    }
    expect("threads afterwards", region(threads), threads);
    return 0;
}
