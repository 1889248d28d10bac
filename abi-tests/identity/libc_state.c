// what: what libc keeps per thread (heap caches, locale in use, buffers of strerror and inet_ntoa, dlerror) across barriers
// threads: 1,4,8,17
#include "identity.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <locale.h>
#include <string.h>
static int unknown_error_is(const char *text, int number)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "Unknown error %d", number);
    return strcmp(text, wanted) == 0;
}
static void blocks_change_hands(void **block, int id, int n)
{
    for (int round = 0; round < 30; round++) {
        size_t size = 16 + 40 * (size_t)((id * 7 + round * 13) % 60);
        block[id] = malloc(size);
        memset(block[id], id + 1, size);
#pragma omp barrier
        unsigned char *taken = (unsigned char *)block[(id + round) % n];
        CHECK_EQ(taken[0], (id + round) % n + 1);
        free(taken);
#pragma omp barrier
    }
}
static void texts_stay(int id)
{
    char address[32];
    snprintf(address, sizeof address, "10.0.%d.%d", id, id + 1);
    struct in_addr binary = {inet_addr(address)};
    const char *error = strerror(5000 + id), *dotted = inet_ntoa(binary);
    char *missing = NULL;
    if (id % 2 == 0)
        dlsym(RTLD_DEFAULT, "no_function_has_this_name");
#pragma omp barrier
    CHECK(unknown_error_is(error, 5000 + id));
    CHECK(strcmp(dotted, address) == 0);
    missing = dlerror();
    CHECK_EQ(missing != NULL, id % 2 == 0);
#pragma omp barrier
}
static void locale_stays(int id)
{
    locale_t own = id % 2 ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : LC_GLOBAL_LOCALE,
             before = uselocale(own);
    for (int round = 0; round < 10; round++) {
#pragma omp barrier
        CHECK(uselocale((locale_t)0) == own);
        CHECK(localeconv()->decimal_point[0] == '.');
    }
    uselocale(before);
    if (id % 2)
        freelocale(own);
}
int main(void)
{
    void *block[64];
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        blocks_change_hands(block, id, omp_get_num_threads());
        texts_stay(id);
        locale_stays(id);
    }
    return check_result();
}
