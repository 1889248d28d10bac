// what: each mistake has its number and its line, and changes nothing
// ours: ompx_* is Gangway's
// mode: link
// threads: 4
// expect-stderr: gangway: ompx_invoke: there is no such rank; this call changes nothing
// expect-stderr: gangway: ompx_future_set: the future is an invocation's, which sets it; this call changes nothing
// expect-stderr: gangway: ompx_future_get: the value has another size; this call changes nothing
// expect-stderr: gangway: ompx_event_satisfy: there is no such dependence; this call changes nothing
// expect-stderr-lines: 29
#include "check.h"
#include "ompx.h"

static void nothing(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    CHECK_EQ(ompx_result_set(NULL, &bytes, sizeof bytes), OMPX_E_ARGUMENT); /* 1 */
    CHECK_EQ(ompx_result_set(result, NULL, 8), OMPX_E_ARGUMENT);
}

static void fires(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)bytes;
    (void)parts;
    CHECK_EQ(count, 2);
    CHECK_EQ(ompx_future_set(*(const ompx_future_t *)data, NULL, 0), 0);
}

int main(void)
{
    ompx_future_t future = {7, 7, 7}, none = {0, 0, 0}, odd = {-3, 0, 1}, far = {5, 0, 1}, done;
    ompx_event_t event, no_event = {0, 0, 0}, far_event = {1, 0, 1};
    char *code = malloc(64);
    int x = 5, y = 6;
    CHECK_EQ(ompx_invoke(1, nothing, NULL, 0, &future), OMPX_E_RANK);
    CHECK_EQ(ompx_invoke(-1, nothing, NULL, 0, &future), OMPX_E_RANK);
    CHECK_EQ(ompx_invoke(0, NULL, NULL, 0, &future), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_invoke(0, nothing, NULL, 8, &future), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_invoke(0, (ompx_handler)(size_t)code, NULL, 0, &future), OMPX_E_FUNCTION);
    CHECK(future.rank == 7 && future.id == 7 && future.generation == 7);
    CHECK_EQ(ompx_invoke(0, nothing, code, (size_t)-1 / 4, &future), OMPX_E_MEMORY); /* 8 */
    CHECK_EQ(ompx_future_wait(future), OMPX_E_STALE);
    CHECK_EQ(ompx_future_create(NULL), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_future_test(none), OMPX_E_STALE);
    CHECK_EQ(ompx_future_wait(odd), OMPX_E_STALE);
    CHECK_EQ(ompx_future_set(far, &x, sizeof x), OMPX_E_STALE);
    CHECK_EQ(ompx_future_create(&future), 0);
    CHECK_EQ(ompx_future_set(future, NULL, 4), OMPX_E_ARGUMENT); /* 14 */
    CHECK_EQ(ompx_future_set(future, &x, sizeof x), 0);
    CHECK_EQ(ompx_future_set(future, &y, sizeof y), OMPX_E_SET);
    CHECK_EQ(ompx_future_get(future, &y, 3), OMPX_E_SIZE);
    CHECK_EQ(ompx_future_get(future, NULL, sizeof y), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_future_size(future, NULL), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_future_get(future, &y, sizeof y), 0);
    CHECK_EQ(y, 5);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_future_free(future), OMPX_E_STALE);
    CHECK_EQ(ompx_future_set(future, &x, sizeof x), OMPX_E_STALE); /* 20 */
    CHECK_EQ(ompx_invoke(0, nothing, NULL, 0, &done), 0);
    CHECK_EQ(ompx_future_set(done, &x, sizeof x), OMPX_E_SET);
    CHECK_EQ(ompx_future_wait(done), 0);
    CHECK_EQ(ompx_future_free(done), 0);
    CHECK_EQ(ompx_event_create(2, NULL, NULL, 0, &event), OMPX_E_ARGUMENT);
    CHECK_EQ(ompx_event_satisfy(no_event, 0, NULL, 0), OMPX_E_STALE);
    CHECK_EQ(ompx_event_satisfy(far_event, 0, NULL, 0), OMPX_E_STALE);
    CHECK_EQ(ompx_future_create(&done), 0);
    CHECK_EQ(ompx_event_create(2, fires, &done, sizeof done, &event), 0);
    CHECK_EQ(ompx_event_satisfy(event, 2, NULL, 0), OMPX_E_SLOT);
    CHECK_EQ(ompx_event_satisfy(event, -2, NULL, 0), OMPX_E_SLOT); /* 26 */
    CHECK_EQ(ompx_event_satisfy(event, 1, NULL, 0), 0);
    CHECK_EQ(ompx_event_satisfy(event, 1, NULL, 0), OMPX_E_SET);
    CHECK_EQ(ompx_event_satisfy(event, 0, NULL, 0), 0);
    CHECK_EQ(ompx_future_wait(done), 0);
    CHECK_EQ(ompx_event_satisfy(event, 0, NULL, 0), OMPX_E_STALE);
    CHECK_EQ(ompx_event_free(event), OMPX_E_STALE);
    CHECK_EQ(ompx_future_free(done), 0);
    free(code);
    return check_result();
}
