// what: programs by chance get the same answers where regions leave what they map on GPUs, and follow each other there, with room for few, limits, devices in turns
// compilers: clang
// each: WAY ; SET = on ; OMPX_COHERENCE=on / few ; OMPX_COHERENCE=20K / limit ; OMPX_COHERENCE=on OMPX_DEVICE_MEMORY=200K / turns ; OMPX_COHERENCE=1M OMPX_SCHED=rrmc
// env: @SET@
// gpus: slow=500
// offload: yes
// devices: 1,2,3
// threads: 1,4
// mode: preload
// ours: placement
// only-gpu: host devices do not have queues
#include "coherence.h"
#include "chained.h"
int main(void)
{
    programs(24, 50);
    by_threads(12);
    /* With several it is the policy's choice. */
    CHECK(omp_get_num_devices() > 1 || chained() > 0);
    return check_result();
}
