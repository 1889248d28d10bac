/* Goes on when the runtime has reported something: a program waits as long as the machine needs. */
#ifndef REPORT_AWAITED_H
#define REPORT_AWAITED_H
#include <poll.h>
#include <string.h>
#include <unistd.h>

static int report_ends[2], standard_error;

/* From here on standard error goes to a pipe. */
static void catch_report(void)
{
    CHECK_EQ(pipe(report_ends), 0);
    standard_error = dup(2);
    CHECK_EQ(dup2(report_ends[1], 2), 2);
}

/* Hands standard error on, until the first text of GANGWAY_CHECK; for 30 s at most. */
static void await_report(void)
{
    char text[4096];
    struct pollfd there = {.fd = report_ends[0], .events = POLLIN};
    while (poll(&there, 1, 30000) > 0) {
        ssize_t bytes = read(report_ends[0], text, sizeof text - 1);
        if (bytes <= 0)
            break;
        text[bytes] = 0;
        CHECK_EQ(write(standard_error, text, (size_t)bytes), bytes);
        if (strstr(text, "GANGWAY_CHECK"))
            break;
    }
    CHECK_EQ(dup2(standard_error, 2), 2);
}
#endif
