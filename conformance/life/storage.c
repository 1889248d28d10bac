/* Thread-local storage as a debugger shows it: gdb is started on this very program, or attached to a child,
 * while six threads of a region share two kernel threads. It has to show the stack of the code that runs,
 * with an end, the kernel threads, the variable of the OpenMP thread that runs, whose storage need not be the
 * kernel thread's own, and those of threads that wait. */
#include "life.h"
#include <signal.h>
#include <sys/prctl.h>
enum { THREADS = 6, CHOSEN = 4 };
__thread int mine = -1;
volatile int there;
static const char *self;

__attribute__((noinline)) void stopped_here(int id)
{
    there = id;
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void chosen_share(int id, int stays)
{
    mine = 100 + id;
#pragma omp barrier
    if (id == CHOSEN)
        do
            stopped_here(id);
        while (stays);
#pragma omp barrier
    there = mine;
}
static int program(int stays)
{
    int size = 0;
#pragma omp parallel num_threads(THREADS)
    {
        chosen_share(omp_get_thread_num(), stays);
#pragma omp single
        size = omp_get_num_threads();
    }
    return size == THREADS;
}
static int inside(void)
{
    return program(0);
}

static size_t answer_of(const char *command, char *said, size_t room)
{
    FILE *gdb = popen(command, "r");
    size_t length = gdb ? fread(said, 1, room - 1, gdb) : 0;
    said[length] = 0;
    if (gdb)
        pclose(gdb);
    return length;
}
/* How many frames of the answer have the word. */
static int frames(const char *said, const char *word)
{
    int count = 0;
    char line[400];
    for (const char *at = said; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        count += line[0] == '#' && strstr(line, word);
    }
    return count;
}
static int is_right(const char *said)
{
    int right = frames(said, " stopped_here") == 1 && frames(said, " chosen_share") == 1 &&
                frames(said, "") < 60 && strstr(said, "\nvalue 104\n") && strstr(said, "\n* ") &&
                strstr(said, " = 101\n") && strstr(said, " = 103\n") && !strstr(said, "Backtrace stopped") &&
                !strstr(said, "corrupt");
    if (!right)
        fputs(said, stderr);
    return right;
}
/* What gdb says at the place. The stall monitor's signal, some real-time one, is none of gdb's business. */
static int ask(const char *go, const char *whom)
{
    static char said[200000];
    char command[4000], signals[400] = "";
    for (int number = 34; number <= 64; number++)
        snprintf(signals + strlen(signals), sizeof signals - strlen(signals), "SIG%d ", number);
    if (!answer_of("timeout 30 gdb -batch -nx -ex run -ex 'print 6*7' /bin/true 2>&1", said, sizeof said) ||
        !strstr(said, "exited normally")) {
        puts("gdb is not there, or may not run programs");
        exit(77);
    }
    snprintf(
        command, sizeof command,
        "timeout 50 gdb -batch -nx -ex 'set debuginfod enabled off' -ex 'set pagination off' -ex 'handle %snostop noprint pass' -ex 'break "
        "stopped_here' -ex %s -ex bt -ex 'info threads' -ex 'printf \"value %%d\\n\", mine' -ex 'set language c' -ex "
        "'thread apply all -s print mine' -ex kill %s 2>&1",
        signals, go, whom);
    return answer_of(command, said, sizeof said) && is_right(said);
}
static int launched(void)
{
    char whom[1000];
    snprintf(whom, sizeof whom, "--args %s inside", self);
    return ask("run", whom);
}
static int attached(void)
{
    char whom[100];
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        _exit(program(1));
    }
    snprintf(whom, sizeof whom, "-p %d", child);
    usleep(300000);
    int right = ask("continue", whom);
    kill(child, SIGKILL);
    return right && waitpid(child, 0, 0) == child;
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {
        {"launched", launched}, {"attached", attached}, {"inside", inside}, {0, 0}};
    self = argv[0];
    setenv("GANGWAY_WORKERS", "2", 1);
    return life(argc, argv, cases);
}
