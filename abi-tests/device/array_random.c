// what: tasks by chance over the blocks of coherent arrays, on all devices, on chosen ones and on the host, get the answers of one thread
// each: SEED = 1 / 2 / 3 / 4
// offload: yes
// devices: 1,3
// threads: 1,4
// mode: preload
// ours: ompx_array_create
#include "array_graph.h"
int main(void)
{
    for (int round = 0; round < 3; round++)
        graph(6, 700, 120, @SEED@ * 100 + round);
    graph(2, 1, 60, @SEED@);
    graph(20, 5000, 100, @SEED@);
    return check_result();
}
