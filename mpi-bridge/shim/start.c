/* libgangway_start.so: preloaded, brings MPI ranks together before main, in programs that were built without
 * a thought of it.
 *
 *     mpirun -n 4 env LD_PRELOAD=.../libgangway_start.so:.../libgangway.so OMPX_CLUSTER=head ./program
 *
 * It takes the C library's __libc_start_main over, so that a function of ours is called in place of main,
 * when all constructors have run. With OMPX_CLUSTER it calls the runtime's ompx_cluster_init there, which on
 * ranks that only serve does not return; then, in any case, main. The core library does not do this by
 * itself: preloading that must change nothing.
 *
 * OMPX_CLUSTER is taken out of the environment then: a program that this one starts is no rank. A process
 * none of whose objects needs an OpenMP library (a shell, stdbuf, time) is left alone, for it may start the
 * program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                           void *);
typedef int cluster_function(int *, char ***);

static main_function *program_main;

static void say(const char *line)
{
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
}

static int needs_openmp(const char *library)
{
    static const char *const known[] = {"libgomp.so", "libomp.so", "libiomp5.so", "libomptarget.so",
                                        "libgangway.so"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(library, known[i], strlen(known[i])) == 0)
            return 1;
    return 0;
}

/* Whether an object asks for an OpenMP library. */
static int look(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *first = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        const char *strings = NULL;
        for (const ElfW(Dyn) *entry = first; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag ==
                DT_STRTAB) /* the loader has made it an address, except in the kernel's own object */
                strings = entry->d_un.d_ptr > object->dlpi_addr ? (const char *)entry->d_un.d_ptr : NULL;
        for (const ElfW(Dyn) *entry = first; strings && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED && needs_openmp(strings + entry->d_un.d_val))
                *(int *)found = 1;
    }
    return *(int *)found;
}

static int start_then_main(int argc, char **argv, char **environment)
{
    const char *mode = getenv("OMPX_CLUSTER");
    int uses_openmp = 0;
    if (mode && *mode)
        dl_iterate_phdr(look, &uses_openmp);
    if (uses_openmp) {
        cluster_function *init = (cluster_function *)dlsym(RTLD_DEFAULT, "ompx_cluster_init");
        if (init)
            init(NULL, NULL);
        else
            say("gangway: OMPX_CLUSTER is set, but libgangway.so is not loaded; the ranks have nothing to do with each other\n");
        unsetenv("OMPX_CLUSTER");
    }
    return program_main(argc, argv, environment);
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    if (!real) {
        say("gangway: libgangway_start.so finds no C library\n");
        _exit(127);
    }
    program_main = main;
    return real(start_then_main, argc, argv, init, fini, rtld_fini, stack_end);
}
