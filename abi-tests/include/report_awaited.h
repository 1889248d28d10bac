/* Goes on when the runtime has reported something: a program waits as long as the machine needs. */
#ifndef REPORT_AWAITED_H
#define REPORT_AWAITED_H
#include <poll.h>
#include <string.h>
#include <unistd.h>

static int report_pipe[2], standard_error;

/* From here on standard error goes to a pipe. */
static void catch_report(void)
{
    CHECK_EQ(pipe(report_pipe), 0);
    standard_error = dup(2);
    CHECK_EQ(dup2(report_pipe[1], 2), 2);
}

/* Hands standard error on, until the first text of GANGWAY_CHECK, or until 30 s pass without any text. */
static void await_report(void)
{
    static const char sought[] = "GANGWAY_CHECK";
    const size_t most_kept = sizeof sought - 2;
    char text[4096];
    size_t kept = 0;
    struct pollfd there = {.fd = report_pipe[0], .events = POLLIN};
    while (poll(&there, 1, 30000) > 0) {
        ssize_t bytes = read(report_pipe[0], text + kept, sizeof text - 1 - kept);
        if (bytes <= 0)
            break;
        CHECK_EQ(write(standard_error, text + kept, (size_t)bytes), bytes);
        size_t length = kept + (size_t)bytes;
        text[length] = 0;
        if (strstr(text, sought))
            break;
        /* The next read may bring the rest of the word. */
        kept = length < most_kept ? length : most_kept;
        memmove(text, text + length - kept, kept);
    }
    CHECK_EQ(dup2(standard_error, 2), 2);
}
#endif
