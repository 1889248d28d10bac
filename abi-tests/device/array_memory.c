// what: coherent arrays that are larger than what their devices may hold: blocks that nobody uses make room, and regions wait for each other's
// each: LIMIT = 300K / 420K / 900K
// env: OMPX_DEVICE_MEMORY=@LIMIT@
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_array_create
#include "array_graph.h"
int main(void)
{
    /* 24 blocks of 96 KiB; a region uses two at a time. */
    graph(24, 12 << 10, 150, 5);
    graph(24, 12 << 10, 150, 6);
    return check_result();
}
