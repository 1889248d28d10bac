/* Says on stderr whether libgangway.so is mapped into this process. The driver asks, so that a run in which
   the library was silently not loaded cannot count as a success. */
#ifndef RUNTIME_USED_H
#define RUNTIME_USED_H
#include <stdio.h>
#include <string.h>

static void report_runtime(void)
{
    char line[4096];
    int ours = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        ours |= strstr(line, "libgangway.so") != NULL;
    if (maps)
        fclose(maps);
    fprintf(stderr, "runtime: %s\n", ours ? "gangway" : "other");
}
#endif
