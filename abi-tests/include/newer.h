/* Routines of OpenMP 5.1 and 5.2 that the header of gcc 12 does not have. */
#ifndef NEWER_H
#define NEWER_H
#include <omp.h>
#ifndef __clang__
#ifdef __cplusplus
extern "C" {
#endif
int omp_in_explicit_task(void);
int omp_control_tool(int, int, void *);
int omp_target_is_accessible(const void *, size_t, int);
void *omp_get_mapped_ptr(const void *, int);
int omp_target_memcpy_async(void *, const void *, size_t, size_t, size_t, int, int, int, omp_depend_t *);
int omp_target_memcpy_rect_async(void *, const void *, size_t, int, const size_t *, const size_t *,
                                 const size_t *, const size_t *, const size_t *, int, int, int,
                                 omp_depend_t *);
#ifdef __cplusplus
}
#endif
#endif
#endif
