// waits: pairs of threads in poll(2) and recv(2) on a socket pair for one another
// free: from 2
#include "lab.h"
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 10 };
int main(void)
{
    int pairs = omp_get_max_threads() / 2, sockets[MOST][2], sum = 0;
    for (int i = 0; i < pairs; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]))
            return 2;
#pragma omp parallel shared(sockets, sum)
    {
        int me = omp_get_thread_num(), side = me % 2, value = 0;
        if (me / 2 < pairs)
            for (int turn = 0; turn < TURNS; turn++) {
                int mine = sockets[me / 2][side];
                if (turn % 2 == side) {
                    value++;
                    if (send(mine, &value, sizeof value, 0) != sizeof value)
                        _exit(2);
                } else {
                    struct pollfd ready = {mine, POLLIN, 0};
                    if (poll(&ready, 1, -1) != 1 || recv(mine, &value, sizeof value, 0) != sizeof value)
                        _exit(2);
                }
            }
        ADD(sum, value);
    }
    return answer(sum, 2 * pairs * TURNS);
}
