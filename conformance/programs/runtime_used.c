/* The same report for Fortran programs: call report_runtime with bind(c). */
#define report_runtime report_runtime_in_c
#include "runtime_used.h"
#undef report_runtime

void report_runtime(void)
{
    report_runtime_in_c();
}
