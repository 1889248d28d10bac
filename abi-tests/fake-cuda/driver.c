/* A CUDA driver for tests, where there is no GPU: devices are memory of this process, streams are threads,
 * kernels are functions of this machine.
 *
 * What it has of the driver API it does as the driver does, as far as a program can tell that keeps to the
 * rules; what breaks them fails: an address that is in no block, a stream of another device, memory that is
 * freed twice. Everything on a stream takes a time by chance, so that whoever does not wait finds the old
 * bytes.
 *
 * It cannot be loaded by accident: it lies in a directory of its own, and without GANGWAY_FAKE_CUDA cuInit
 * fails. The variable is a list of words:
 *
 *     devices=2       how many; 1
 *     memory=64       MiB of each; 256
 *     delay=200       the most microseconds that an operation takes longer; 0
 *     slow=500        microseconds that a kernel takes longer on the first device; 0
 *     seed=1          of what is left to chance
 *     alloc=3         the third allocation finds no memory, whatever there is
 *     launch=2        the second kernel fails, and its device with it
 *     peers=0         ways between devices: 1 between any two, 2 between the two of a pair, 3 none that can
 * be opened, 0 none; 1 pageable=1      copies from and to memory that is not pinned keep the caller waiting,
 * as the driver does: all to the host, large ones to the device; 0 pinned=0        MiB of pinned memory; 1024
 *     version=12020   what cuDriverGetVersion says; 13000
 *     priorities=2    of streams, above the usual one: nothing goes by them, but cuStreamGetPriority says
 * them, and kernels find them in fake_priority; 5 streams=9       the tenth stream that has a priority is not
 * made, nor are later ones; no limit log=1           a line on stderr for each constructor and destructor of
 * a real image that is called, for each image that is unloaded, and for the driver's end; 0
 *
 * As the driver, it ends by a handler of its own when the process does: what is called afterwards fails.
 *
 * An image is an ELF file for CUDA (machine 190) or for this machine; its code is this machine's in either
 * case: a real one's kernels run as those of the image for this machine that the program has, too (cubin.h).
 * A kernel gets its arguments, each as large as a pointer. A variable `fake_geometry` of the image, if there
 * is one, has teams, threads and shared bytes while a kernel runs, `fake_priority` its stream's priority.
 * Functions that the runtime has to do without when a driver lacks them: FAKE_CUDA_OLD leaves them out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cubin.h"

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    DEINITIALIZED = 4,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    PEER_UNSUPPORTED = 217,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ALREADY = 704,
    PEER_NOT_ENABLED = 705,
    TOO_MANY_PEERS = 711,
    LAUNCH_FAILED = 719,
    NOT_PERMITTED = 800
};
enum { MOST_DEVICES = 8, MOST_ARGUMENTS = 16, EM_GPU = 190 };

#define API __attribute__((visibility("default")))

/* ---- state
 * -------------------------------------------------------------------------------------------------------------
 */

struct block {
    struct block *next;
    char *begin;
    size_t size;
    int is_variable; /* of an image */
};

struct device {
    struct block *blocks;
    size_t used;
    int error; /* from then on every operation on it fails with it */
    int retained;
    unsigned open_peers; /* whose memory it has access to, a bit each */
};

static struct device devices[MOST_DEVICES];
static int device_count, is_initialised, version = 13000, peers, keeps_waiting, logs, priorities;
static volatile int has_ended;
static size_t memory_of_each = (size_t)256 << 20, pinned_memory;
static struct block *pinned;
static unsigned most_delay, slow, chance = 1;
static long allocations, launches, failing_allocation, failing_launch, streams_left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct device *current;

static long word(const char *text, const char *name, long otherwise)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == ',') && at[length] == '=')
            return atol(at + length + 1);
    return otherwise;
}

static unsigned draw(unsigned below)
{
    pthread_mutex_lock(&lock);
    chance = chance * 1664525 + 1013904223;
    unsigned drawn = below ? (chance >> 8) % below : 0;
    pthread_mutex_unlock(&lock);
    return drawn;
}

static int fails(struct device *device, int error)
{
    pthread_mutex_lock(&lock);
    if (!device->error)
        device->error = error;
    pthread_mutex_unlock(&lock);
    return error;
}

/* Does the device have all of these bytes? The lock is held. */
static struct block *block_of(struct device *device, const void *address, size_t size)
{
    const char *begin = address;
    for (struct block *block = device->blocks; block; block = block->next)
        if (block->begin <= begin && begin + size <= block->begin + block->size)
            return block;
    return NULL;
}

static int has(struct device *device, const void *address, size_t size)
{
    pthread_mutex_lock(&lock);
    int found = block_of(device, address, size) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void add_block(struct device *device, char *begin, size_t size, int is_variable)
{
    struct block *block = malloc(sizeof *block);
    *block = (struct block){device->blocks, begin, size, is_variable};
    device->blocks = block;
}

/* ---- devices and contexts: a context is its device
 * --------------------------------------------------------------------- */

static void end_driver(void)
{
    has_ended = 1;
    if (logs)
        fprintf(stderr, "the driver ends\n");
}

API int cuInit(unsigned flags)
{
    const char *text = getenv("GANGWAY_FAKE_CUDA");
    if (flags)
        return INVALID_VALUE;
    if (!text)
        return NOT_PERMITTED;
    pthread_mutex_lock(&lock);
    if (!is_initialised) {
        device_count = (int)word(text, "devices", 1);
        memory_of_each = (size_t)word(text, "memory", 256) << 20;
        most_delay = (unsigned)word(text, "delay", 0);
        slow = (unsigned)word(text, "slow", 0);
        chance = (unsigned)word(text, "seed", 1);
        failing_allocation = word(text, "alloc", 0);
        failing_launch = word(text, "launch", 0);
        version = (int)word(text, "version", version);
        peers = (int)word(text, "peers", 1);
        keeps_waiting = (int)word(text, "pageable", 0);
        pinned_memory = (size_t)word(text, "pinned", 1024) << 20;
        logs = (int)word(text, "log", 0);
        priorities = (int)word(text, "priorities", 5);
        streams_left = word(text, "streams", 1L << 40);
        is_initialised = 1;
        atexit(end_driver);
    }
    pthread_mutex_unlock(&lock);
    return device_count > 0 && device_count <= MOST_DEVICES ? OK : NO_DEVICE;
}

API int cuDriverGetVersion(int *out)
{
    *out = version;
    return OK;
}

API int cuDeviceGetCount(int *count)
{
    *count = device_count;
    return is_initialised ? OK : NOT_INITIALIZED;
}

API int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count ? OK : INVALID_DEVICE;
}

API int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Fake GPU %d", device);
    return OK;
}

/* The few that matter: threads of a block, of a warp, processors, capability. */
API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 1 ? 1024 : attribute == 10 ? 32 : attribute == 16 ? 8 : attribute == 75 ? 9 : 0;
    return OK;
}

API int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (device < 0 || device >= device_count)
        return INVALID_DEVICE;
    devices[device].retained++;
    *context = &devices[device];
    return OK;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    devices[device].retained--;
    return OK;
}

API int cuCtxGetCurrent(void **context)
{
    *context = current;
    return has_ended ? DEINITIALIZED : OK;
}

API int cuCtxSetCurrent(void *context)
{
    current = context;
    return has_ended ? DEINITIALIZED : OK;
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------------
 */

API int cuMemAlloc_v2(void **address, size_t size)
{
    struct device *device = current;
    if (has_ended)
        return DEINITIALIZED;
    if (!device)
        return INVALID_CONTEXT;
    if (device->error)
        return device->error;
    pthread_mutex_lock(&lock);
    int is_full = ++allocations == failing_allocation || size > memory_of_each - device->used;
    char *begin = is_full ? NULL : aligned_alloc(256, (size + 255) / 256 * 256);
    if (begin) {
        memset(begin, 0xA5, size);
        device->used += size;
        add_block(device, begin, size, 0);
    }
    pthread_mutex_unlock(&lock);
    *address = begin;
    return begin ? OK : OUT_OF_MEMORY;
}

API int cuMemFree_v2(void *address)
{
    struct device *device = current;
    if (has_ended)
        return DEINITIALIZED;
    if (!device)
        return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    struct block **at = &device->blocks;
    while (*at && ((*at)->begin != (char *)address || (*at)->is_variable))
        at = &(*at)->next;
    struct block *block = *at;
    if (block) {
        *at = block->next;
        device->used -= block->size;
        memset(block->begin, 0x5A, block->size);
        free(block->begin);
        free(block);
    }
    pthread_mutex_unlock(&lock);
    return block ? OK : INVALID_VALUE;
}

/* ---- streams and events
 * ------------------------------------------------------------------------------------------------ */

struct event {
    unsigned long recorded, done;
    double when; /* the last one that is done, in ms */
};

struct item {
    struct item *next;
    enum { COPY, KERNEL, CALL, RECORD, WAIT, STOP } what;
    void *to;
    const void *from;
    size_t size;
    struct event *event;
    unsigned long number;
    void (*function)(void);
    void (*call)(void *);
    struct module *module;
    unsigned teams, threads, shared;
    int priority;
    size_t count;
    uintptr_t arguments[MOST_ARGUMENTS];
};

struct stream {
    struct device *device;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item *first, **last;
    unsigned long put, over;
    int priority;
};

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t events_changed = PTHREAD_COND_INITIALIZER;

typedef void (*kernel)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                       uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                       uintptr_t);

struct module {
    void *object;
    struct device *device;
    const Elf64_Ehdr *cubin; /* a real image, null for those that are this machine's */
    struct variable *variables;
    unsigned *geometry;
    int *priority;
    long launched, over; /* kernels */
    int is_constructed, is_unloaded;
};

static void launch(struct device *device, const struct item *item)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int is_to_fail = ++launches == failing_launch;
    pthread_mutex_unlock(&lock);
    if (is_to_fail) {
        fails(device, LAUNCH_FAILED);
        return;
    }
    pthread_mutex_lock(&one_at_a_time);
    if (item->module->geometry)
        memcpy(item->module->geometry, (unsigned[]){item->teams, item->threads, item->shared},
               3 * sizeof(unsigned));
    if (item->module->priority)
        *item->module->priority = item->priority;
    const uintptr_t *a = item->arguments;
    ((kernel)item->function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                             a[13], a[14], a[15]);
    pthread_mutex_unlock(&one_at_a_time);
}

static double clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void do_it(struct device *device, const struct item *item)
{
    if (item->what == RECORD || item->what == WAIT) {
        pthread_mutex_lock(&events_lock);
        if (item->what == RECORD && item->event->done < item->number) {
            item->event->done = item->number;
            item->event->when = clock_ms();
        }
        while (item->what == WAIT && item->event->done < item->number)
            pthread_cond_wait(&events_changed, &events_lock);
        pthread_cond_broadcast(&events_changed);
        pthread_mutex_unlock(&events_lock);
        return;
    }
    if (device->error)
        return;
    usleep(draw(most_delay));
    if (item->what == COPY)
        memmove(item->to, item->from, item->size);
    else if (item->what == KERNEL) {
        usleep(device == devices ? slow : 0);
        launch(device, item);
    } else if (item->what == CALL)
        item->call(item->to);
}

static void *run(void *argument)
{
    struct stream *stream = argument;
    for (int goes_on = 1; goes_on;) {
        pthread_mutex_lock(&stream->lock);
        while (!stream->first)
            pthread_cond_wait(&stream->changed, &stream->lock);
        struct item *item = stream->first;
        stream->first = item->next;
        if (!stream->first)
            stream->last = &stream->first;
        pthread_mutex_unlock(&stream->lock);
        goes_on = item->what != STOP;
        do_it(stream->device, item);
        if (item->what == KERNEL)
            __atomic_add_fetch(&item->module->over, 1, __ATOMIC_SEQ_CST);
        free(item);
        pthread_mutex_lock(&stream->lock);
        stream->over++;
        pthread_cond_broadcast(&stream->changed);
        pthread_mutex_unlock(&stream->lock);
    }
    return NULL;
}

static int put(struct stream *stream, struct item item)
{
    if (has_ended)
        return DEINITIALIZED;
    if (!current)
        return INVALID_CONTEXT;
    if (!stream || stream->device != current)
        return INVALID_VALUE;
    if (current->error)
        return current->error;
    struct item *copy = malloc(sizeof *copy);
    *copy = item;
    copy->next = NULL;
    pthread_mutex_lock(&stream->lock);
    *stream->last = copy;
    stream->last = &copy->next;
    stream->put++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return OK;
}

static int make_stream(struct stream **stream, int priority)
{
    if (!current)
        return INVALID_CONTEXT;
    struct stream *made = calloc(1, sizeof *made);
    made->device = current;
    made->priority = priority;
    made->last = &made->first;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    *stream = made;
    return pthread_create(&made->thread, NULL, run, made) ? OUT_OF_MEMORY : OK;
}

API int cuStreamCreate(struct stream **stream, unsigned flags)
{
    (void)flags;
    return make_stream(stream, 0);
}

#ifndef FAKE_CUDA_OLD
/* The greatest priority is the least number. */
API int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -priorities;
    return current ? OK : INVALID_CONTEXT;
}

API int cuStreamCreateWithPriority(struct stream **stream, unsigned flags, int priority)
{
    (void)flags;
    if (priority && __atomic_fetch_sub(&streams_left, 1, __ATOMIC_SEQ_CST) <= 0)
        return OUT_OF_MEMORY;
    return make_stream(stream, priority > 0 ? 0 : priority < -priorities ? -priorities : priority);
}

API int cuStreamGetPriority(struct stream *stream, int *priority)
{
    *priority = stream->priority;
    return OK;
}
#endif

API int cuStreamSynchronize(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->over < stream->put)
        pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    return stream->device->error;
}

API int cuStreamDestroy_v2(struct stream *stream)
{
    struct device *before = current;
    current = stream->device;
    int error = current->error;
    current->error = OK;
    put(stream, (struct item){.what = STOP});
    current->error = error;
    pthread_join(stream->thread, NULL);
    free(stream);
    current = before;
    return OK;
}

API int cuEventCreate(struct event **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return current ? OK : INVALID_CONTEXT;
}

API int cuEventDestroy_v2(struct event *event)
{
    free(event);
    return OK;
}

API int cuEventRecord(struct event *event, struct stream *stream)
{
    pthread_mutex_lock(&events_lock);
    unsigned long number = ++event->recorded;
    pthread_mutex_unlock(&events_lock);
    return put(stream, (struct item){.what = RECORD, .event = event, .number = number});
}

API int cuEventQuery(struct event *event)
{
    pthread_mutex_lock(&events_lock);
    int is_done = event->done >= event->recorded;
    pthread_mutex_unlock(&events_lock);
    if (current && current->error)
        return current->error;
    return is_done ? OK : NOT_READY;
}

/* For programs that measure; the runtime does not. */
API int cuEventElapsedTime(float *ms, struct event *begin, struct event *end)
{
    pthread_mutex_lock(&events_lock);
    int are_recorded = begin->recorded && end->recorded,
        are_done = begin->done >= begin->recorded && end->done >= end->recorded;
    *ms = (float)(end->when - begin->when);
    pthread_mutex_unlock(&events_lock);
    return !are_recorded ? INVALID_HANDLE : are_done ? OK : NOT_READY;
}

API int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&events_lock);
    unsigned long number = event->recorded;
    pthread_mutex_unlock(&events_lock);
    return put(stream, (struct item){.what = WAIT, .event = event, .number = number});
}

/* For programs that want something of the host's in the middle of a stream; the runtime does not. */
API int cuLaunchHostFunc(struct stream *stream, void (*call)(void *), void *argument)
{
    return put(stream, (struct item){.what = CALL, .call = call, .to = argument});
}

/* ---- pinned memory
 * ----------------------------------------------------------------------------------------------------- */

static struct block **pinned_block(const void *address)
{
    struct block **at = &pinned;
    while (*at &&
           !((*at)->begin <= (const char *)address && (const char *)address < (*at)->begin + (*at)->size))
        at = &(*at)->next;
    return at;
}

static int is_pinned(const void *address)
{
    pthread_mutex_lock(&lock);
    int found = *pinned_block(address) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

#ifndef FAKE_CUDA_OLD
API int cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    (void)flags;
    if (!current)
        return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    int fits = size <= pinned_memory;
    if (fits) {
        pinned_memory -= size;
        struct block *block = malloc(sizeof *block);
        *block = (struct block){pinned, aligned_alloc(4096, (size + 4095) / 4096 * 4096), size, 0};
        pinned = block;
        *address = block->begin;
    }
    pthread_mutex_unlock(&lock);
    return fits ? OK : OUT_OF_MEMORY;
}

API int cuMemFreeHost(void *address)
{
    pthread_mutex_lock(&lock);
    struct block **at = pinned_block(address), *block = *at;
    int found = block && block->begin == address;
    if (found) {
        *at = block->next;
        pinned_memory += block->size;
        free(block->begin);
        free(block);
    }
    pthread_mutex_unlock(&lock);
    return found ? OK : INVALID_VALUE;
}

/* The one attribute that matters: what kind of memory that is. */
API int cuPointerGetAttribute(unsigned *value, int attribute, void *address)
{
    *value = 1;
    return attribute == 2 && is_pinned(address) ? OK : INVALID_VALUE;
}
#endif

/* ---- copies
 * ------------------------------------------------------------------------------------------------------------
 */

static int copy(struct stream *stream, void *to, const void *from, size_t size)
{
    return put(stream, (struct item){.what = COPY, .to = to, .from = from, .size = size});
}

/* The same, with the host's side. */
static int copy_host(struct stream *stream, void *to, const void *from, size_t size, const void *host)
{
    int is_taken_along = host == from && size <= 64 << 10;
    int waits = keeps_waiting && !is_taken_along && !is_pinned(host), done = copy(stream, to, from, size);
    return waits && done == OK ? cuStreamSynchronize(stream) : done;
}

API int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, struct stream *stream)
{
    return has(stream->device, to, size) ? copy_host(stream, to, from, size, from)
                                         : fails(stream->device, ILLEGAL_ADDRESS);
}

API int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, struct stream *stream)
{
    return has(stream->device, from, size) ? copy_host(stream, to, from, size, to)
                                           : fails(stream->device, ILLEGAL_ADDRESS);
}

API int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t size, struct stream *stream)
{
    int fine = has(stream->device, to, size) && has(stream->device, from, size);
    return fine ? copy(stream, to, from, size) : fails(stream->device, ILLEGAL_ADDRESS);
}

#ifndef FAKE_CUDA_OLD
/* ---- copies between devices
 * ---------------------------------------------------------------------------------------------- */

static int have_a_way(long a, long b)
{
    return a != b && (peers == 1 || peers == 3 || (peers == 2 && a / 2 == b / 2));
}

API int cuDeviceCanAccessPeer(int *can, int device, int other)
{
    if (device < 0 || device >= device_count || other < 0 || other >= device_count)
        return INVALID_DEVICE;
    *can = have_a_way(device, other);
    return OK;
}

API int cuCtxEnablePeerAccess(struct device *other, unsigned flags)
{
    if (!current || !other || flags)
        return INVALID_VALUE;
    if (!have_a_way(current - devices, other - devices))
        return PEER_UNSUPPORTED;
    if (peers == 3)
        return TOO_MANY_PEERS;
    pthread_mutex_lock(&lock);
    unsigned bit = 1U << (other - devices), before = current->open_peers;
    current->open_peers |= bit;
    pthread_mutex_unlock(&lock);
    return before & bit ? PEER_ALREADY : OK;
}

/* The real one goes by way of the host where access is not enabled. Here that is a mistake: it would go
 * unnoticed. */
API int cuMemcpyPeerAsync(void *to, struct device *to_context, const void *from, struct device *from_context,
                          size_t size, struct stream *stream)
{
    if (stream->device != to_context || !(to_context->open_peers >> (from_context - devices) & 1))
        return PEER_NOT_ENABLED;
    if (from_context->error)
        return from_context->error;
    return has(to_context, to, size) && has(from_context, from, size) ? copy(stream, to, from, size)
                                                                      : fails(to_context, ILLEGAL_ADDRESS);
}
#endif

/* ---- images and kernels
 * ------------------------------------------------------------------------------------------------ */

struct function {
    void (*code)(void);
    struct module *module;
    long bytes; /* of parameters, -1 if that is not known */
};

/* How many bytes of an ELF file there are: up to the end of its section headers. */
static size_t elf_size(const Elf64_Ehdr *header)
{
    return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

/* Loads an image as this machine's code, whatever it says it is for. */
static void *load(const Elf64_Ehdr *image)
{
    size_t size = elf_size(image);
    char *bytes = malloc(size), path[40];
    memcpy(bytes, image, size);
    ((Elf64_Ehdr *)bytes)->e_machine = EM_X86_64;
    int file = memfd_create("image", 0); /* stays open: objects are known by their names */
    int is_written = file >= 0 && write(file, bytes, size) == (ssize_t)size;
    free(bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

API int cuModuleLoadData(struct module **module, const void *image)
{
    if (!current)
        return INVALID_CONTEXT;
    const Elf64_Ehdr *header = image, *cubin = NULL;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
        (header->e_machine != EM_GPU && header->e_machine != EM_X86_64))
        return INVALID_IMAGE;
    if (header->e_machine == EM_GPU && is_cubin(header)) {
        int kernels;
        cubin = memcpy(malloc(elf_size(header)), image, elf_size(header));
        header = companion(cubin, &kernels);
        if (!header && kernels)
            return INVALID_IMAGE; /* nothing can run in their place */
    }
    void *object = header ? load(header) : NULL;
    if (header && !object)
        return INVALID_IMAGE;
    *module = malloc(sizeof **module);
    unsigned *geometry =
        object
            ? dlsym(object, "fake_geometry")
            : NULL; /* not while a kernel runs: the loader's lock may be held then by whoever waits for it */
    int *priority = object ? dlsym(object, "fake_priority") : NULL;
    **module = (struct module){.object = object,
                               .device = current,
                               .cubin = cubin,
                               .geometry = geometry,
                               .priority = priority,
                               .is_constructed = !cubin || !cubin_has_constructors(cubin)};
    return OK;
}

API int cuModuleUnload(struct module *module)
{
    if (has_ended)
        return DEINITIALIZED;
    struct link_map *object = NULL;
    if (module->object)
        dlinfo(module->object, RTLD_DI_LINKMAP, &object);
    pthread_mutex_lock(&lock);
    int is_wrong = current != module->device || module->is_unloaded || module->launched != module->over;
    module->is_unloaded = 1;
    for (struct variable *variable = module->variables; variable; variable = variable->next)
        variable->name = "";
    for (struct block **at = &module->device->blocks; *at;) {
        Dl_info info;
        struct block *block = *at;
        int is_its = 0;
        for (struct variable *variable = module->variables; variable; variable = variable->next)
            is_its |= variable->at == (void *)block->begin;
        if (block->is_variable && object && dladdr(block->begin, &info))
            is_its |= info.dli_fbase == (void *)object->l_addr;
        if (is_its) {
            *at = block->next;
            free(block);
        } else
            at = &block->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_wrong)
        return fails(module->device,
                     ILLEGAL_ADDRESS); /* a kernel of it runs, or it is no image of this device */
    if (logs)
        fprintf(stderr, "GPU %d: an image is unloaded\n", (int)(module->device - devices));
    if (module->object)
        dlclose(module->object);
    return OK;
}

static void say_called(struct module *module, const char *what, const char *name)
{
    if (logs)
        fprintf(stderr, "GPU %d: %s %s\n", (int)(module->device - devices), what,
                name + strlen("__init_array_object_"));
}

/* The kernels of a real image that call constructors and destructors, as LLVM 19 makes them: they walk the
 * list, which has the variables' names in place of functions (cubin.h). Those of this machine's image are
 * called when it is loaded and unloaded. */
static void call_constructors(uintptr_t module)
{
    struct module *of = (struct module *)module;
    uintptr_t end = list_end(of->variables, "__init_array_end");
    for (uintptr_t at = list_end(of->variables, "__init_array_start"); at != end; at += sizeof(void *))
        say_called(of, "constructor", *(const char **)at);
}

static void call_destructors(uintptr_t module)
{
    struct module *of = (struct module *)module;
    uintptr_t begin = list_end(of->variables, "__fini_array_start"),
              last = list_end(of->variables, "__fini_array_end") - sizeof(void *);
    if (last <= begin)
        return; /* a single one, too, if the list begins there */
    for (uintptr_t at = last; at >= begin; at -= sizeof(void *))
        say_called(of, "destructor", *(const char **)at);
}

API int cuModuleGetFunction(struct function **function, struct module *module, const char *name)
{
    void (*code)(void) = NULL;
    if (module->object)
        *(void **)&code = dlsym(module->object, name);
    Elf64_Sym *symbol = NULL;
    Dl_info info;
    int is_init = !strcmp(name, "nvptx$device$init"), is_fini = !strcmp(name, "nvptx$device$fini");
    if (module->cubin && (is_init || is_fini) && cubin_symbol(module->cubin, name, STT_FUNC)) {
        *function = malloc(sizeof **function);
        **function =
            (struct function){(void (*)(void))(is_init ? call_constructors : call_destructors), module, 0};
        return OK;
    }
    if (!code || !dladdr1((void *)code, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        return NOT_FOUND;
    if (module->cubin && !cubin_symbol(module->cubin, name, STT_FUNC))
        return NOT_FOUND;
    *function = malloc(sizeof **function);
    **function =
        (struct function){code, module, module->cubin ? cubin_parameter_bytes(module->cubin, name) : -1};
    return OK;
}

/* What a real image has and this machine's has not is a variable of its own. */
static int find_variable(struct module *module, const char *name, void **address, size_t *size)
{
    const Elf64_Sym *wanted = module->cubin ? cubin_symbol(module->cubin, name, STT_OBJECT) : NULL;
    if (module->cubin && !wanted)
        return 0;
    void *found = module->object ? dlsym(module->object, name) : NULL;
    Elf64_Sym *symbol = NULL;
    Dl_info info;
    if (found && dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
        ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && (!wanted || wanted->st_size == symbol->st_size)) {
        *address = found;
        *size = symbol->st_size;
        return 1;
    }
    if (!wanted)
        return 0;
    struct variable *at = module->variables;
    while (at && strcmp(at->name, name))
        at = at->next;
    if (!at) {
        at = malloc(sizeof *at);
        const char *own = strdup(name);
        *at = (struct variable){module->variables, own, first_value(module->cubin, wanted, own),
                                wanted->st_size};
        module->variables = at;
    }
    *address = at->at;
    *size = at->size;
    return 1;
}

API int cuModuleGetGlobal_v2(void **address, size_t *size, struct module *module, const char *name)
{
    pthread_mutex_lock(&lock);
    int found = find_variable(module, name, address, size);
    if (found && !block_of(module->device, *address, *size))
        add_block(module->device, *address, *size, 1);
    pthread_mutex_unlock(&lock);
    return found ? OK : NOT_FOUND;
}

API int cuLaunchKernel(struct function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       struct stream *stream, void **arguments, void **extra)
{
    if (arguments || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] ||
        grid_y * grid_z * block_y * block_z != 1)
        return INVALID_VALUE;
    size_t bytes = *(size_t *)extra[3];
    if (bytes % sizeof(uintptr_t) || bytes > MOST_ARGUMENTS * sizeof(uintptr_t) || !grid_x || !block_x ||
        block_x > 1024)
        return INVALID_VALUE;
    if (function->bytes >= 0 && bytes != (size_t)function->bytes)
        return INVALID_VALUE;
    struct module *module = function->module;
    int is_init = function->code == (void (*)(void))call_constructors,
        is_fini = function->code == (void (*)(void))call_destructors;
    if (is_init)
        module->is_constructed = list_of_constructors(module->variables) > 0;
    if (!module->is_constructed || module->is_unloaded)
        return fails(
            stream->device,
            LAUNCH_FAILED); /* a kernel before its image's objects are made, or after it was unloaded */
    struct item item = {.what = KERNEL,
                        .function = function->code,
                        .module = module,
                        .teams = grid_x,
                        .threads = block_x,
                        .shared = shared,
                        .priority = stream ? stream->priority : 0};
    memcpy(item.arguments, extra[1], bytes);
    if (is_init || is_fini)
        item.arguments[0] = (uintptr_t)module;
    __atomic_add_fetch(&module->launched, 1, __ATOMIC_SEQ_CST);
    int done = put(stream, item);
    if (done != OK)
        __atomic_add_fetch(&module->over, 1, __ATOMIC_SEQ_CST);
    return done;
}

/* ---- words
 * -------------------------------------------------------------------------------------------------------------
 */

#ifndef FAKE_CUDA_OLD
API int cuGetErrorName(int error, const char **name)
{
    *name = error == OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
            : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == INVALID_IMAGE   ? "CUDA_ERROR_INVALID_IMAGE"
                                       : "CUDA_ERROR_OTHER";
    return OK;
}
#endif
