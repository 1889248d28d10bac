// what: random sequences of enter, exit, update and target agree with a model of reference counts, seed @SEED@
// each: SEED = 1 / 2 / 3 / 4
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
enum { N = 12, LENGTH = 16, STEPS = 3000 };
/* What the device should have of each block, and who holds it. */
struct model { int count, host, there; };
static unsigned state = @SEED@;
static int draw(int n)
{
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 10) % n;
}
static void walk(int d)
{
    int *blocks[N], apart = is_apart(d), wrong = 0;
    struct model m[N];
    for (int i = 0; i < N; i++) {
        blocks[i] = malloc(sizeof(int) * LENGTH);
        for (int k = 0; k < LENGTH; k++)
            blocks[i][k] = i;
        m[i] = (struct model){0, i, 0};
    }
    for (int step = 1; step <= STEPS; step++) {
        int i = draw(N), *p = blocks[i], fresh = step + 1000, seen = -1;
        struct model *at = &m[i];
        int first = apart && at->count == 0, last = apart && at->count == 1, none = first;
        switch (draw(9)) {
        case 0:;
#pragma omp target enter data device(d) map(to : p[0:LENGTH])
            if (first)
                at->there = at->host;
            at->count += apart;
            break;
        case 1:;
#pragma omp target enter data device(d) map(always, to : p[0:LENGTH])
            at->there = at->host;
            at->count += apart;
            break;
        case 2:;
#pragma omp target exit data device(d) map(from : p[0:LENGTH])
            if (last)
                at->host = at->there;
            at->count -= at->count > 0;
            break;
        case 3:;
#pragma omp target exit data device(d) map(release : p[0:LENGTH])
            at->count -= at->count > 0;
            break;
        case 4:;
            if (draw(4) == 0) {
#pragma omp target exit data device(d) map(delete : p[0:LENGTH])
                at->count = 0;
            }
            break;
        case 5:;
#pragma omp target update device(d) to(p[0:LENGTH])
            if (!none)
                at->there = at->host;
            break;
        case 6:;
#pragma omp target update device(d) from(p[0:LENGTH])
            if (apart && !none)
                at->host = at->there;
            break;
        case 7:;
            for (int k = 0; k < LENGTH; k++)
                p[k] = fresh;
            at->host = fresh;
            break;
        default:
#pragma omp target device(d) map(tofrom : p[0:LENGTH]) map(from : seen)
            {
                seen = p[LENGTH - 1];
                for (int k = 0; k < LENGTH; k++)
                    p[k] = -fresh;
            }
            wrong += seen != (none || !apart ? at->host : at->there);
            at->there = -fresh;
            if (none || !apart)
                at->host = -fresh;
        }
        wrong += p[0] != at->host || p[LENGTH - 1] != at->host;
        wrong += omp_target_is_present(p, d) != (!apart || at->count > 0);
    }
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < N; i++) {
        int *p = blocks[i];
#pragma omp target exit data device(d) map(delete : p[0:LENGTH])
        CHECK_EQ(omp_target_is_present(p, d), !apart);
        free(p);
    }
}
int main(void)
{
    EACH_DEVICE(d)
        walk(d);
    return check_result();
}
