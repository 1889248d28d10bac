/* Coherent arrays, in programs that are linked without the library. */
#ifndef ARRAYS_H
#define ARRAYS_H
#include "streams.h"
#pragma weak ompx_array_create
#pragma weak ompx_array_destroy
#pragma weak ompx_array_host
#pragma weak ompx_array_use
#pragma weak ompx_array_pointer
#pragma weak ompx_prefetch
#pragma weak ompx_device_any
#endif
