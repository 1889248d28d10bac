// what: the children of a thread, and the program that it becomes, start with the thread's own signal mask, however they are made
// threads: 2,6,17
// timeout: 60
#include "signals.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* The shell opens its mask when it starts, so only the signals that it cannot know of are asked for there. */
enum { SYSTEM, POPEN, SPAWN, VFORK, FORK, WAYS };
static char show[] = "grep", line[] = "SigBlk", status[] = "/proc/self/status";
static char *words[] = {show, line, status, NULL};

static unsigned long mask_in(FILE *file)
{
    unsigned long mask = ~0UL;
    char text[200];
    while (fgets(text, sizeof text, file))
        sscanf(text, "SigBlk: %lx", &mask);
    return mask;
}

/* The mask of a child that is made in this way; it writes to `path`. */
static unsigned long by(int way, const char *path)
{
    char command[300];
    pid_t child = 0;
    int result = 0, file;
    snprintf(command, sizeof command, "grep SigBlk /proc/self/status > %s", path);
    switch (way) {
    case SYSTEM: result = system(command); break;
    case POPEN: {
        FILE *pipe = popen("grep SigBlk /proc/self/status", "r");
        unsigned long mask = mask_in(pipe);
        pclose(pipe);
        return mask;
    }
    case SPAWN: {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        result = posix_spawnp(&child, show, &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
        break;
    }
    case VFORK:
    case FORK:
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        child = way == VFORK ? vfork() : fork();
        if (child == 0) {
            dup2(file, 1);
            execvp(show, words);
            _exit(1);
        }
        close(file);
        break;
    }
    if (child != 0)
        waitpid(child, &result, 0);
    if (result != 0)
        return 2;
    FILE *written = fopen(path, "r");
    unsigned long mask = mask_in(written);
    fclose(written);
    unlink(path);
    return mask;
}

int main(void)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        char path[100];
        sigset_t own;
        snprintf(path, sizeof path, "/tmp/children-%d-%d", (int)getpid(), me);
        /* Every second thread blocks a signal: its children start with that one blocked, the others with
         * none. */
        sigemptyset(&own);
        sigaddset(&own, SIGUSR2);
        if (me % 2)
            pthread_sigmask(SIG_BLOCK, &own, NULL);
        for (int way = 0; way < WAYS; way++) {
            unsigned long expected = me % 2 && way >= SPAWN ? 1UL << (SIGUSR2 - 1) : 0;
#pragma omp critical
            wrong += by(way, path) != expected;
        }
    }
    CHECK_EQ(wrong, 0);
    return check_result();
}
