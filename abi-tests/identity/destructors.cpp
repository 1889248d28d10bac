// what: destructors of thread_local objects and of pthread_key values: those of the thread that ends, once each, when it ends; none of storage that somebody else may wear
// env: GANGWAY_WORKERS=2
// threads: 8
// mode: preload,link
// ours: elsewhere every thread of a team is a kernel thread that ends
// flags: all -std=c++17
#include "identity.h"
#include <pthread.h>
#include <unistd.h>
enum { MOST = 64 };
static int gone[MOST], freed[MOST];
static pthread_key_t key;
struct object {
    int owner = -1;
    ~object()
    {
        if (owner >= 0)
            __atomic_fetch_add(&gone[owner], 1, __ATOMIC_RELAXED);
    }
};
static thread_local object mine;
static void key_ends(void *value)
{
    __atomic_fetch_add(&freed[(long)value - 1], 1, __ATOMIC_RELAXED);
}

static int sum(const int *counts)
{
    int all = 0;
    for (int i = 0; i < MOST; i++)
        all += counts[i];
    return all;
}
static void region(int first)
{
#pragma omp parallel
    {
        int id = first + omp_get_thread_num();
        mine.owner = id;
        pthread_setspecific(key, (void *)(id + 1L));
#pragma omp barrier
        CHECK_EQ(mine.owner, id);
        CHECK_EQ((long)pthread_getspecific(key), id + 1);
    }
}
static void *root(void *first)
{
    region((int)(long)first);
    CHECK_EQ(sum(gone), (long)first / 10 - 1);
    return NULL;
}

/* After the calling thread's objects, before the process ends. */
static struct last {
    int expects = 0;
    ~last()
    {
        if (expects && (gone[43] != 1 || sum(gone) != 3 || sum(freed) != 2)) {
            fprintf(stderr, "exit: %d of 43, %d of all, %d of keys\n", gone[43], sum(gone), sum(freed));
            _exit(3);
        }
    }
} at_exit;

int main()
{
    pthread_key_create(&key, key_ends);
    for (long first = 10; first <= 20;
         first += 10) { /* roots in turn: the second one's threads may wear what the first one's wore */
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, root, (void *)first));
        pthread_join(thread, NULL);
        CHECK_EQ(gone[first], 1);
        CHECK_EQ(freed[first], 1);
    }
    CHECK_EQ(sum(gone), 2);
    CHECK_EQ(sum(freed), 2);
    at_exit.expects = !check_result();
    region(40);
    if (check_result())
        return 1;
#pragma omp parallel
    {
#pragma omp barrier
        if (omp_get_thread_num() == 3)
            exit(0); /* its object, nobody else's, and no value of a key */
#pragma omp barrier
    }
    return 4;
}
