// what: omp_pause_resource_all ends the threads of the program's teams: destructors of thread_local objects and of pthread_key_create have run when it returns, once per thread, and may call routines. Another thread of the program may use the runtime meanwhile; its threads stay
// each: NAME ; TLS ; SECOND = alone ; auto ; 0 / beside_another ; auto ; 1 / kernel_threads ; kernel ; 0 / kernel_threads_beside_another ; kernel ; 1
// env: GANGWAY_TLS=@TLS@
// compilers: gcc, clang>=19
// threads: 2,3,6,17
// peers: libomp fails, because it ends no threads there; libgomp fails, because one of the threads may still be at it

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
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
        fflush(stdout);
        _Exit(1); /* another thread may be waiting */
    }
}

/* Another thread of the program, which has had regions of its own and keeps its team until the end. */
static std::mutex mutex;
static std::condition_variable changed;
static bool is_ready, is_over;
static void second(int threads) {
    expect("threads of the second team", region(threads), threads);
    std::unique_lock<std::mutex> lock(mutex);
    is_ready = true;
    changed.notify_all();
    changed.wait(lock, [] { return is_over; });
}

int main() {
    const int threads = omp_get_max_threads();
    omp_set_dynamic(0);
    pthread_key_create(&key, of_key);
    std::thread live;
    int others = 0;
    if (@SECOND@) {
        live = std::thread(second, threads);
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [] { return is_ready; });
        others = threads;
    }
    for (int cycle = 1; cycle <= 3; cycle++) {
        for (int i = 0; i < 3; i++) expect("threads with an object", region(threads), threads);
        std::thread other([&] { expect("threads of another team", region(threads), threads); });
        other.join();
        expect("omp_pause_resource_all", omp_pause_resource_all(omp_pause_hard), 0);
        /* All but the one of the thread that goes on. The other thread and the threads of its team have ended, too. */
        expect("objects made", made, others + 1 + cycle * (2 * threads - 1));
        expect("objects destroyed", destroyed, cycle * (2 * threads - 1));
        expect("values of keys destroyed", keys, cycle * (2 * threads - 1));
        expect("objects found wrong", wrong, 0);
    }
    expect("threads afterwards", region(threads), threads);
    if (live.joinable()) {
        {
            std::unique_lock<std::mutex> lock(mutex);
            is_over = true;
        }
        changed.notify_all();
        live.join();
    }
    return 0;
}
