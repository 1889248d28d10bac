/* A shared object without OpenMP regions, made while the program runs and loaded by it: what it waits for, it
   waits for in loops around sched_yield, as libmkl_core does. */
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char library_source[] =
    "#include <errno.h>\n"
    "#include <pthread.h>\n"
    "#include <sched.h>\n"
    "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\n"
    "static int asked, done;\n"
    "/* Waits until the word has another value; errno and a thread-local word have to stay what they are. */\n"
    "int wait_for_change(int *word, int old) {\n"
    "  static __thread int own;\n"
    "  int *address = &own, kept = errno;\n"
    "  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)\n"
    "    if (sched_yield() != 0 || errno != kept || address != &own) return 1;\n"
    "  return 0;\n"
    "}\n"
    "/* A thread of the library's own serves one caller at a time. */\n"
    "static void *serve(void *unused) {\n"
    "  for (int served = 0;; served++) {\n"
    "    while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) == served) sched_yield();\n"
    "    __atomic_store_n(&done, served + 1, __ATOMIC_RELEASE);\n"
    "  }\n"
    "  return unused;\n"
    "}\n"
    "int start(void) { pthread_t thread; return pthread_create(&thread, 0, serve, 0); }\n"
    "void be_served(void) {\n"
    "  pthread_mutex_lock(&mutex);\n"
    "  int ticket = __atomic_add_fetch(&asked, 1, __ATOMIC_RELEASE);\n"
    "  while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != ticket) sched_yield();\n"
    "  pthread_mutex_unlock(&mutex);\n"
    "}\n";

/* Whether one of the compilers has made `library` of `source`. They run on no library of ours. */
static int build_library(const char *source, const char *library)
{
    static const char *const compilers[] = {"cc", "gcc", "clang", "clang-19"};
    char command[600];
    for (int i = 0; i < 4; i++) {
        snprintf(command, sizeof command,
                 "env -u LD_PRELOAD %s -O1 -shared -fPIC -pthread -o %s %s 2>/dev/null", compilers[i],
                 library, source);
        if (system(command) == 0)
            return 1;
    }
    return 0;
}

static void *load_library(void)
{
    char directory[] = "/tmp/spin_in_library.XXXXXX", source[64], library[64];
    CHECK(mkdtemp(directory) != NULL);
    snprintf(source, sizeof source, "%s/l.c", directory);
    snprintf(library, sizeof library, "%s/l.so", directory);
    FILE *file = fopen(source, "w");
    CHECK(file != NULL && fputs(library_source, file) >= 0 && fclose(file) == 0);
    CHECK(build_library(source, library));
    void *handle = dlopen(library, RTLD_NOW);
    CHECK(handle != NULL);
    unlink(library), unlink(source), rmdir(directory);
    return handle;
}
