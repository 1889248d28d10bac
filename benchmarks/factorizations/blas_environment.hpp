// OpenBLAS must run on the thread that calls it.
#pragma once

/// Sees to it that OPENBLAS_NUM_THREADS is 1 and that OPENBLAS_CORETYPE is set where the processor has
/// AVX-512.
///
/// OpenBLAS reads both when it is loaded, so a process that lacks one of them starts itself again. Values
/// that the user has set stay. To be called first in main.
void prepare_blas(char **argv);
