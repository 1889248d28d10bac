// what: programs by chance get the same answers where regions leave what they map on their devices (OMPX_COHERENCE), with copies that take time, room for few, limits
// each: WAY ; SET = slow ; OMPX_COHERENCE=on GANGWAY_HOST_DEVICE_DELAY=200 / few ; OMPX_COHERENCE=20K / limit ; OMPX_COHERENCE=on OMPX_DEVICE_MEMORY=200K / off ; OMPX_COHERENCE=off / turns ; OMPX_COHERENCE=1M OMPX_SCHED=rrmc
// env: @SET@
// offload: yes
// devices: 3
// threads: 1,4
// mode: preload
// ours: placement
#include "coherence.h"
int main(void)
{
    programs(12, 50);
    by_threads(12);
    return check_result();
}
