/* How many regions and tasks with streams were queued on their device behind others; 0 under other runtimes.
 */
#ifndef CHAINED_H
#define CHAINED_H
#include "ompx.h"
#pragma weak ompx_get_counters

static uint64_t chained(void)
{
    ompx_counters_t counters = {0};
    if (ompx_get_counters)
        ompx_get_counters(&counters, sizeof counters);
    return counters.regions_chained;
}
#endif
