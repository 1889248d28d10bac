/* Coherent arrays whose blocks go from rank to rank. */
#include "array_graph.h"
int main(void)
{
    if (omp_get_num_devices() == 0) {
        CHECK(1); /* of several ranks that all run main, each has the others; of one there is none */
        return check_result();
    }
    graph(6, 700, 100, 11);
    graph(12, 5000, 100, 12);
    graph(2, 1, 40, 13);
    return check_result();
}
