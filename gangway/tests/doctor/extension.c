/* A module for Python that runs a parallel region when it is imported, built without Python's headers: the
 * stable part of its interface is declared here. */
#include <omp.h>
#include <stdio.h>

typedef struct {
    long references;
    void *type, *init;
    long index;
    void *copy;
    const char *name, *doc;
    long size;
    void *methods, *slots, *traverse, *clear, *free;
} definition_t;

void *PyModule_Create2(definition_t *, int);

static definition_t definition = {1, 0, 0, 0, 0, "_sum", 0, -1, 0, 0, 0, 0, 0};

__attribute__((visibility("default"))) void *PyInit__sum(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    printf("sum %d\n", sum);
    fflush(stdout);
    return sum == 6 ? PyModule_Create2(&definition, 1013) : NULL;
}
