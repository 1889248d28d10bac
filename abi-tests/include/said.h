/* What the runtime says on standard error, call by call. */
#ifndef SAID_H
#define SAID_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lines, was;

/* From here on standard error goes to a file. */
static void catch_lines(void)
{
    char name[] = "/tmp/said-XXXXXX";
    was = dup(2);
    lines = mkstemp(name);
    unlink(name);
    dup2(lines, 2);
}

/* Is this in what was said since the last look, in one line; or nothing if it is null? */
static int said(const char *text)
{
    char buffer[4096];
    static off_t from;
    ssize_t n = pread(lines, buffer, sizeof buffer - 1, from);
    from += n > 0 ? n : 0;
    buffer[n > 0 ? n : 0] = 0;
    int right = text ? strstr(buffer, text) && strchr(buffer, '\n') == strrchr(buffer, '\n') : n == 0;
    if (!right)
        dprintf(was, "instead of `%s`: %s\n", text ? text : "", buffer);
    return right;
}
#endif
