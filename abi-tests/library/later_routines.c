// what: routines of OpenMP 6.0 and 6.1, and what compilers after gcc 12 call: sizes of teams, interop, allocated blocks
// ours: the runtimes of these compilers do not have them yet
// threads: 1,3
// mode: link
#include "check.h"
#include <limits.h>

int omp_get_num_teams_dim(int), omp_get_team_num_dim(int), omp_get_num_threads_dim(int),
    omp_get_thread_num_dim(int), omp_get_thread_limit_dim(int);
int omp_get_supported_teams_dim(int, int), omp_get_supported_threads_dim(int, int);
int omp_get_supported_active_team_dims(int, int), omp_get_supported_active_league_dims_(int *, int *);
void omp_get_device_distances(int, const int *, int *);
void omp_get_uid_from_device_(const char **, size_t *, int),
    omp_get_interop_rc_desc_(const char **, size_t *, void *, int);
int omp_get_device_from_uid_(const char *, size_t);
size_t omp_get_device_memspace(int, size_t), omp_get_devices_allocator(int, const int *, size_t),
    omp_get_submemspace(size_t, int, const int *);
size_t omp_get_devices_memspace_(int *, const int *, size_t *);
int omp_get_memspace_num_resources(size_t), omp_is_free_agent(void), omp_ancestor_is_free_agent(int);
unsigned long long GOMP_loop_static_worksharing(unsigned long long),
    GOMP_distribute_static_worksharing_start(unsigned long long);
void GOMP_distribute_static_worksharing_end(void),
    GOMP_loop_static_worksharing_dispatch(unsigned long long, unsigned long long);
_Bool GOMP_single_start_with_end(void), GOMP_has_masked_thread_num(int), GOMP_barrier_cancel_ext(int),
    GOMP_is_alloc(void *);
void GOMP_single_end(void), GOMP_barrier_ext(int), GOMP_add_alloc(void *),
    *GOMP_target_map_indirect_ptr(void *);
void GOMP_interop(int, int, void ***, const void *, const void *, int, void **, int, void ***, unsigned,
                  void **);
void GOMP_offload_register_ver(unsigned, const void *, int, const void *);

int main(void)
{
    int n = omp_get_max_threads(), singles = 0, masked = 0, counter = 0;
#pragma omp parallel reduction(+ : singles, masked)
    {
        unsigned long long pair = GOMP_loop_static_worksharing(100);
        CHECK_EQ((unsigned)pair, n);
        CHECK_EQ(pair >> 32, omp_get_thread_num());
        GOMP_loop_static_worksharing_dispatch(0, 10);
        CHECK_EQ(omp_get_num_threads_dim(0), n);
        CHECK_EQ(omp_get_num_threads_dim(1), 1);
        CHECK_EQ(omp_get_thread_num_dim(0), omp_get_thread_num());
        CHECK_EQ(omp_get_thread_num_dim(1), 0);
        singles += GOMP_single_start_with_end();
        GOMP_single_end();
        masked += GOMP_has_masked_thread_num(n - 1);
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
        GOMP_barrier_ext(1);
        CHECK_EQ(__atomic_load_n(&counter, __ATOMIC_SEQ_CST), n);
        CHECK(!GOMP_barrier_cancel_ext(2));
    }
    CHECK_EQ(singles, 1);
    CHECK_EQ(masked, 1);
    CHECK_EQ(GOMP_distribute_static_worksharing_start(5), 1);
    GOMP_distribute_static_worksharing_end();
    CHECK_EQ(omp_get_num_teams_dim(0), 1);
    CHECK_EQ(omp_get_team_num_dim(0), 0);
    CHECK_EQ(omp_get_thread_limit_dim(0), omp_get_thread_limit());
    CHECK_EQ(omp_get_thread_limit_dim(3), 1);
    CHECK_EQ(omp_get_supported_teams_dim(0, 0), INT_MAX);
    CHECK_EQ(omp_get_supported_threads_dim(0, 2), 1);
    CHECK_EQ(omp_get_supported_active_team_dims(-1, 1), 1);
    CHECK_EQ(omp_get_supported_active_league_dims_((int[]){77}, (int[]){0}), 0);

    int devices[] = {-1, 0, 99, -5}, distances[4] = {9, 9, 9, 9};
    omp_get_device_distances(4, devices, distances);
    CHECK(distances[0] == 0 && distances[1] == 0 && distances[2] == -1 && distances[3] == 0);
    const char *text;
    size_t length;
    omp_get_uid_from_device_(&text, &length, 0);
    CHECK(text && length == strlen(text));
    CHECK_EQ(omp_get_device_from_uid_(text, length), 0);
    CHECK_EQ(omp_get_device_from_uid_("nobody  ", 8), -4);
    omp_get_interop_rc_desc_(&text, &length, 0, 0);
    CHECK(length == 10 && !memcmp(text, "successful", 10));
    omp_get_interop_rc_desc_(&text, &length, 0, 99);
    CHECK(!text && length == 0);

    CHECK_EQ(omp_get_device_memspace(0, 3), 3);
    CHECK_EQ(omp_get_device_memspace(5, 3), 0);
    CHECK_EQ(omp_get_devices_allocator(2, (int[]){0, -1}, 3), 4);
    CHECK_EQ(omp_get_devices_allocator(2, (int[]){0, 7}, 3), 0);
    CHECK_EQ(omp_get_devices_memspace_((int[]){1}, (int[]){0}, (size_t[]){99}), 99);
    CHECK_EQ(omp_get_submemspace(2, 1, (int[]){0}), 2);
    CHECK_EQ(omp_get_submemspace(2, 1, (int[]){1}), 0);
    CHECK_EQ(omp_get_memspace_num_resources(1), 1);
    CHECK_EQ(omp_get_memspace_num_resources(12345), 0);
    CHECK(!omp_is_free_agent() && !omp_ancestor_is_free_agent(0));

    void *one = &one, *two = &two, **objects[] = {&one, &two};
    GOMP_interop(0, 1, objects, 0, 0, 0, 0, 1, objects + 1, 0, 0);
    CHECK(!one && !two);
    GOMP_add_alloc(&one);
    CHECK(!GOMP_is_alloc(&two));
    CHECK(GOMP_is_alloc(&one));
    CHECK(!GOMP_is_alloc(&one));
    CHECK(GOMP_target_map_indirect_ptr((void *)main) == (void *)main);
    GOMP_offload_register_ver(0, 0, 5, 0);
    return check_result();
}
