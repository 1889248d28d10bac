// what: a list of nodes entered one by one, walked on the device
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct node {
    int value;
    struct node *next;
};
enum { N = 20 };
int main(void)
{
    EACH_DEVICE(d)
    {
        struct node *head = NULL;
        for (int i = 0; i < N; i++) {
            struct node *n = malloc(sizeof *n);
            n->value = i;
            n->next = head;
            head = n;
        }
        struct node *n = head;
#pragma omp target enter data device(d) map(to : n[0 : 1])
        for (; n->next; n = n->next) {
#pragma omp target enter data device(d) map(to : n -> next[0 : 1])
        }
        int sum = 0, count = 0;
        n = head;
#pragma omp target device(d) map(tofrom : sum, count) map(alloc : n[0 : 1])
        for (struct node *at = n; count < N; at = at->next) {
            sum += at->value;
            at->value *= 2;
            count++;
        }
        CHECK_EQ(count, N);
        CHECK_EQ(sum, N * (N - 1) / 2);
        for (n = head; n; n = n->next) {
            int value = n->value;
#pragma omp target update device(d) from(n -> value)
            CHECK_EQ(n->value, is_apart(d) ? 2 * value : value);
        }
        while (head) {
            n = head;
            head = n->next;
#pragma omp target exit data device(d) map(delete : n[0 : 1])
            CHECK_EQ(omp_target_is_present(n, d), !is_apart(d));
            free(n);
        }
    }
    return check_result();
}
