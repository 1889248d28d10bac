// what: events: parts in the order of the dependences, satisfied by tasks in any order; one without dependences; a chain of them
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"

enum { PARTS = 100, LINKS = 500 };

static void gather(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    long right = 0;
    CHECK_EQ(bytes, sizeof(ompx_future_t));
    CHECK_EQ(count, PARTS);
    for (size_t i = 0; i < count; i++)
        if (i % 3 == 0)
            right += parts[i].size == 0 && parts[i].bytes == NULL;
        else
            right += parts[i].size == sizeof(long) && *(const long *)parts[i].bytes == (long)i;
    CHECK_EQ(ompx_future_set(*(const ompx_future_t *)data, &right, sizeof right), 0);
}

struct link {
    ompx_future_t end;
    int left;
};

/* Makes the next one, which needs two to fire, and satisfies it. */
static void next(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    struct link link = *(const struct link *)data;
    ompx_event_t event;
    (void)parts;
    CHECK(count == 0 || count == 2);
    if (link.left-- == 0) {
        CHECK_EQ(ompx_future_set(link.end, NULL, 0), 0);
        return;
    }
    CHECK_EQ(ompx_event_create(2, next, &link, bytes, &event), 0);
    CHECK_EQ(ompx_event_satisfy(event, 1, NULL, 0), 0);
    CHECK_EQ(ompx_event_satisfy(event, OMPX_ANY_SLOT, NULL, 0), 0);
}

int main(void)
{
    ompx_future_t future;
    ompx_event_t event;
    long right = 0;
    CHECK_EQ(ompx_future_create(&future), 0);
    CHECK_EQ(ompx_event_create(PARTS, gather, &future, sizeof future, &event), 0);
#pragma omp parallel for schedule(dynamic)
    for (int i = PARTS - 1; i >= 0; i--) {
        long value = i;
        CHECK_EQ(ompx_event_satisfy(event, i, i % 3 ? &value : NULL, i % 3 ? sizeof value : 0), 0);
    }
    CHECK_EQ(ompx_future_get(future, &right, sizeof right), 0);
    CHECK_EQ(right, PARTS);
    CHECK_EQ(ompx_future_free(future), 0);
    struct link link = {{0}, LINKS};
    CHECK_EQ(ompx_future_create(&link.end), 0);
    CHECK_EQ(ompx_event_create(0, next, &link, sizeof link, &event), 0);
    CHECK_EQ(ompx_future_wait(link.end), 0);
    CHECK_EQ(ompx_future_free(link.end), 0);
    CHECK_EQ(ompx_event_create(1, next, &link, sizeof link, &event), 0);
    CHECK_EQ(ompx_event_free(event), 0);
    return check_result();
}
