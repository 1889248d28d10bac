/* Tasks with streams of GPUs, in programs that are linked without the library. */
#ifndef STREAMS_H
#define STREAMS_H
#include "ompx.h"
#pragma weak ompx_cuda_stream
#pragma weak ompx_cuda_stream_on
#pragma weak ompx_cuda_task
#pragma weak ompx_set_task_stream
#pragma weak ompx_device_any_gpu
#pragma weak ompx_future_wait
#pragma weak ompx_future_free
#endif
