/* Functions on other ranks that go wrong, and handles that are used wrongly, by the first argument. */
#include "device.h"
#include "ompx.h"
#include <dlfcn.h>
#include <unistd.h>

struct both {
    ompx_future_t future;
    ompx_event_t event;
};

static void crashes(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    (void)result;
    **(int *volatile const *)args = 1;
}

static void exits(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    exit(3);
}

static void sets_twice(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct both *both = args;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_future_set(both->future, NULL, 0), 0);
    CHECK_EQ(ompx_future_set(both->future, NULL, 0), 0);
}

static void satisfies_twice(const void *args, size_t bytes, ompx_result_t *result)
{
    const struct both *both = args;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_event_satisfy(both->event, 0, NULL, 0), 0);
    CHECK_EQ(ompx_event_satisfy(both->event, 0, NULL, 0), 0);
}

static void makes_one(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_future_t future;
    (void)args;
    (void)bytes;
    CHECK_EQ(ompx_future_create(&future), 0);
    ompx_result_set(result, &future, sizeof future);
}

static void none(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)data;
    (void)bytes;
    (void)parts;
    (void)count;
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0;
    struct both both;
    ompx_future_t done, theirs;
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW), *address = (void *)16;
    ompx_handler known_here = library ? (ompx_handler)dlsym(library, "__ctype_get_mb_cur_max") : NULL;
    CHECK_EQ(ompx_future_create(&both.future), 0);
    CHECK_EQ(ompx_event_create(2, none, NULL, 0, &both.event), 0);
    switch (how) {
    case 1: ompx_invoke(1, crashes, &address, sizeof address, &done); break;
    case 2: ompx_invoke(1, exits, NULL, 0, &done); break;
    case 3: ompx_invoke(1, known_here, NULL, 0, &done); break;
    case 4: ompx_invoke(1, sets_twice, &both, sizeof both, &done); break;
    case 5: ompx_invoke(1, satisfies_twice, &both, sizeof both, &done); break;
    case 6:
        ompx_invoke(1, makes_one, NULL, 0, &done);
        CHECK_EQ(ompx_future_get(done, &theirs, sizeof theirs), 0);
        CHECK_EQ(theirs.rank, 1);
        CHECK_EQ(ompx_future_wait(theirs), OMPX_E_FOREIGN);
        break;
    default: return 2;
    }
    ompx_future_wait(done);
    return check_result();
}
