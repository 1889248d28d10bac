/* The programs as they run on OpenMP tasks; programs.c lists them. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "suite.h"

extern const struct program fib_program, nqueens_program, sort_program, strassen_program, sparselu_program,
    fft_program, health_program, uts_program, floorplan_program, alignment_program, uts_large_program,
    uts_untied_program, uts_unwaited_program, alignment_20_program, alignment_100_program;

#endif
