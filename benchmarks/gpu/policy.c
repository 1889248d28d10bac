/* A policy that puts every region where the program said: OMPX_SCHED=library:... (include/ompx.h). The
 * program writes down the GPU of each region before it creates it. */
#include "policy.h"

#define API __attribute__((visibility("default")))

API struct wishes policy_wishes;

static int choose(void *data, uint64_t region, const ompx_sched_device_t *devices, uint32_t count)
{
    (void)data;
    (void)devices;
    if (region >=
        __atomic_load_n(&policy_wishes.made, __ATOMIC_ACQUIRE)) { /* pairs with the program's store */
        policy_wishes.unknown++;
        return 0;
    }
    int device = policy_wishes.of[region];
    policy_wishes.asked[device]++;
    return device < (int)count ? device : 0;
}

API const ompx_sched_policy_t *ompx_sched_policy(void)
{
    static const ompx_sched_policy_t policy = {.version = 1, .name = "the program's own", .choose = choose};
    return &policy;
}
