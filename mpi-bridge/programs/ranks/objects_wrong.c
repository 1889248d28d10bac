/* Mobile objects that are used wrongly, by the first argument. */
#include "device.h"
#include "ompx.h"
#include <dlfcn.h>

static void nothing(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)object;
    (void)data;
    (void)args;
    (void)bytes;
    (void)result;
}

static void crashes(ompx_object_t object, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)object;
    (void)data;
    (void)bytes;
    (void)result;
    **(int *volatile const *)args = 1;
}

static void makes_one(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_object_t object;
    (void)args;
    (void)bytes;
    CHECK_EQ(ompx_object_create(NULL, 8, &object), 0);
    ompx_result_set(result, &object, sizeof object);
}

static void *pack_nothing(const void *object, size_t *bytes)
{
    (void)object;
    *bytes = 8;
    return NULL;
}

static void *unpack(const void *packed, size_t bytes)
{
    (void)bytes;
    return (void *)packed;
}

static const ompx_object_type_t half = {pack_nothing, NULL, NULL}, hollow = {pack_nothing, unpack, NULL};

/* An object of rank 1. */
static ompx_object_t theirs(void)
{
    ompx_future_t made;
    ompx_object_t object = {0};
    CHECK_EQ(ompx_invoke(1, makes_one, NULL, 0, &made), 0);
    CHECK_EQ(ompx_future_get(made, &object, sizeof object), 0);
    CHECK_EQ(object.rank, 1);
    return object;
}

static void fired(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)bytes;
    CHECK_EQ(count, 1);
    CHECK(parts[0].bytes == NULL && parts[0].size == 0);
    CHECK_EQ(ompx_future_set(*(const ompx_future_t *)data, NULL, 0), 0);
}

int main(int argc, char **argv)
{
    int how = argc > 1 ? atoi(argv[1]) : 0;
    ompx_object_t object = {0}, none = {0}, nowhere = {99, 1, 1};
    ompx_future_t future = {0};
    ompx_event_t event;
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW), *address = (void *)16;
    ompx_object_handler known_here =
        library ? (ompx_object_handler)dlsym(library, "__ctype_get_mb_cur_max") : NULL;
    CHECK_EQ(ompx_object_create(NULL, 8, &object), 0);
    switch (how) {
    case 1: /* what the caller can know; each has its line */
        CHECK_EQ(ompx_object_create(NULL, 8, NULL), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_create_typed(NULL, NULL, &none), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_create_typed(&half, NULL, &none), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_create_typed((ompx_object_type_t *)malloc(64), NULL, &none), OMPX_E_FUNCTION);
        CHECK_EQ(ompx_object_invoke(object, 0, nothing, NULL, 0, NULL), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_invoke(object, OMPX_READ, NULL, NULL, 0, NULL), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_invoke(object, OMPX_READ, nothing, NULL, 1, NULL), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_invoke(object, OMPX_READ, (ompx_object_handler)malloc(64), NULL, 0, NULL),
                 OMPX_E_FUNCTION);
        CHECK_EQ(ompx_object_invoke(none, OMPX_READ, nothing, NULL, 0, &future), OMPX_E_STALE);
        CHECK_EQ(ompx_object_invoke(nowhere, OMPX_READ, nothing, NULL, 0, &future), OMPX_E_STALE);
        CHECK_EQ(ompx_object_migrate(object, ompx_cluster_size()), OMPX_E_RANK);
        CHECK_EQ(ompx_object_migrate(none, 0), OMPX_E_STALE);
        CHECK_EQ(ompx_object_free(nowhere), OMPX_E_STALE);
        CHECK_EQ(ompx_set_balance("much"), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_set_balance(NULL), OMPX_E_ARGUMENT);
        CHECK_EQ(ompx_object_invoke(object, OMPX_WRITE, nothing, NULL, 0, &future), 0);
        CHECK_EQ(ompx_future_wait(future), 0);
        CHECK_EQ(ompx_object_free(object), 0);
        return check_result();
    case 2: /* freed by somebody else meanwhile: the future says so */
        object = theirs();
        CHECK_EQ(ompx_object_free(object), 0);
        CHECK_EQ(ompx_object_invoke(object, OMPX_WRITE, nothing, NULL, 0, &future), 0);
        CHECK_EQ(ompx_future_wait(future), OMPX_E_STALE);
        CHECK_EQ(ompx_future_free(future), 0);
        return check_result();
    case 3:
        object = theirs();
        CHECK_EQ(ompx_object_free(object), 0);
        CHECK_EQ(ompx_object_free(object), 0);
        return check_result();
    case 4:
        object = theirs();
        CHECK_EQ(ompx_object_free(object), 0);
        CHECK_EQ(ompx_future_create(&future), 0);
        CHECK_EQ(ompx_event_create(1, fired, &future, sizeof future, &event), 0);
        CHECK_EQ(ompx_event_satisfy_object(event, 0, object), 0);
        CHECK_EQ(ompx_future_wait(future), 0);
        return check_result();
    case 5: ompx_object_invoke(theirs(), OMPX_WRITE, crashes, &address, sizeof address, &future); break;
    case 6: ompx_object_invoke(theirs(), OMPX_WRITE, known_here, NULL, 0, &future); break;
    case 7:
        CHECK_EQ(ompx_object_create_typed(&hollow, NULL, &object), 0);
        CHECK_EQ(ompx_object_migrate(object, 1), 0);
        ompx_object_invoke(object, OMPX_WRITE, nothing, NULL, 0, &future);
        break;
    default: return 2;
    }
    ompx_future_wait(future);
    return check_result();
}
