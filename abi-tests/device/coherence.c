// what: programs by chance get the same answers where regions leave what they map on their devices (OMPX_COHERENCE)
// env: OMPX_COHERENCE=on
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
