/* The program once more: as another process whose lines are read, and as a shared object that it loads into
 * itself. */
#ifndef AGAIN_H
#define AGAIN_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the last process has written to stderr. */
static char again_text[1 << 16];

/* Runs the program with one argument; how it has ended, as waitpid says. */
static int again(const char *argument)
{
    int ends[2], status = -1;
    if (pipe(ends))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "again", argument, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], again_text + length, sizeof again_text - 1 - length)) > 0;)
        length += (size_t)got;
    again_text[length] = 0;
    close(ends[0]);
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* How often it has written that. */
static inline int again_count(const char *text)
{
    int count = 0;
    for (const char *at = again_text; (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

/* Loads the program's own file as a shared object, with code for devices and variables of its own. It is one
 * but for a flag, for which the loader would refuse it; so a copy without that. */
static inline void *again_open(void)
{
    int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("again", MFD_CLOEXEC);
    struct stat about;
    if (from < 0 || to < 0 || fstat(from, &about) || ftruncate(to, about.st_size))
        return NULL;
    char *bytes = (char *)mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0),
         path[40];
    if (bytes == MAP_FAILED || read(from, bytes, (size_t)about.st_size) != about.st_size)
        return NULL;
    Elf64_Ehdr *file = (Elf64_Ehdr *)bytes;
    Elf64_Phdr *parts = (Elf64_Phdr *)(bytes + file->e_phoff);
    for (int i = 0; i < file->e_phnum; i++)
        for (Elf64_Dyn *entry = (Elf64_Dyn *)(bytes + parts[i].p_offset);
             parts[i].p_type == PT_DYNAMIC && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_FLAGS_1)
                entry->d_un.d_val &= ~(Elf64_Xword)DF_1_PIE;
    munmap(bytes, (size_t)about.st_size);
    close(from);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to); /* stays open: objects are known by their names */
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        fprintf(stderr, "%s\n", dlerror());
    return object;
}
#endif
