// what: destructors of global objects of an image, @COUNT@ of them: once per image and device, when the object that holds it is closed or the process ends, before the driver ends
// each: COUNT = 1 / 3
// compilers: clang>=19
// offload: yes
// devices: 1,3
// threads: 4
// ours: host devices
// gpus: log=1
// timeout: 60
#include "again.h"
#include "device.h"
#define COUNT @COUNT@
// The host has these objects, too; the image for this machine says what becomes of them, and the driver for tests what it calls of one for GPUs.
#pragma omp declare target
static void say(const char *what, int number)
{
#ifndef __NVPTX__
    if (!omp_is_initial_device())
        dprintf(2, "image: %s %d\n", what, number);
#else
    (void)what, (void)number;
#endif
}
volatile int seventy = 70; // so that the compiler cannot make the objects
struct Made {
    int value, number;
    Made(int n) : value(seventy + n), number(n) { say("made", n); }
    ~Made() { say("destroyed", number), value = 0; }
};
Made first(1);
#if COUNT > 1
static Made second(2);
Made third(3);
#endif
int visits;
#pragma omp end declare target

// Uses every device, twice; how often this object's code was on each before, if that is the same for all.
static int use(void)
{
    int before = -1;
    for (int d = 0; d < omp_get_num_devices(); d++) {
        int value = 0, v = 0;
#pragma omp target device(d) map(from : value, v)
        {
            value = first.value;
#if COUNT > 1
            value += second.value + third.value;
#endif
            v = visits++;
        }
        CHECK_EQ(value, COUNT > 1 ? 3 * 72 : 71);
        CHECK(before == -1 || before == v);
        before = v;
    }
    return before;
}

// The object that was loaded last says where its code is.
__attribute__((constructor)) static void offer(void)
{
    char text[32];
    snprintf(text, sizeof text, "%p", (void *)use);
    setenv("AGAIN_USE", text, 1);
}

static void as_plugin(int rounds, int closes)
{
    for (int round = 0; round < rounds; round++) {
        void *object = again_open();
        int (*there)(void) = (int (*)(void))strtoull(getenv("AGAIN_USE"), NULL, 0);
        CHECK(object && there != use);
        CHECK_EQ(there(), 0); // nothing is left of the last one
        CHECK_EQ(there(), 1);
        if (closes) {
            dlclose(object);
            dprintf(2, "closed\n");
        }
    }
}

// As the compiler's constructor calls it.
static void *registered;
extern "C" void __tgt_register_lib(void *what)
{
    registered = what;
    ((void (*)(void *))dlsym(RTLD_NEXT, "__tgt_register_lib"))(what);
}
extern "C" void __tgt_unregister_lib(void *);

static int scenario(const char *which)
{
    dprintf(2, "%d devices\n", omp_get_num_devices());
    if (!strcmp(which, "main")) {
        use();
    } else if (!strcmp(which, "plugin")) {
        use();
        as_plugin(3, 1);
        CHECK_EQ(use(), 1);
    } else if (!strcmp(which, "plugin alone")) {
        as_plugin(2, 1);
    } else if (!strcmp(which, "open plugin")) {
        as_plugin(1, 0);
    } else if (!strcmp(which, "anew")) { // closed, and loaded at the same address
        for (int round = 0; round < 3; round++) {
            for (int before = 0; before <= round; before++)
                CHECK_EQ(use(), before);
#pragma omp target update device(0) from(visits) // the new one's
            CHECK_EQ(visits, round + 1);
            __tgt_unregister_lib(registered);
            __tgt_register_lib(registered);
        }
    } else if (!strcmp(which, "exit")) {
        use();
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp task
        exit(check_result() + 3);
    } else if (!strcmp(which, "queued")) { // at the end of the process there are regions that nobody has waited for
        static int seen = -1;
        use();
#pragma omp target nowait device(0) map(from : seen)
        seen = visits;
    } else if (!strcmp(which, "child")) {
        use();
        pid_t child = fork();
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
    } else if (!strcmp(which, "quick")) {
        use();
        _exit(check_result());
    }
    return check_result();
}

// Loads of the image by one device, and how often its objects have to be destroyed.
static void check(const char *which, int loads, int destroyed, int status)
{
    int ended = again(which), devices = atoi(again_text);
    CHECK(devices > 0);
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == status);
    CHECK_EQ(again_count("image: made"), COUNT * loads * devices);
    int in_child = !strcmp(which, "child") ? 2 : 1; // the loader does it there, too
    CHECK_EQ(again_count("image: destroyed"), COUNT * destroyed * devices * in_child);
    int is_real = again_count(": constructor") > 0;
    CHECK_EQ(again_count(": constructor"), is_real * loads * devices); // one calls all
    CHECK_EQ(again_count("destructor __dtor"), is_real * COUNT * destroyed * devices);
    // The last one that was made goes first, and all before the driver.
    const char *at = again_text, *end = NULL;
    for (const char *said = again_text; (said = strstr(said, "the driver ends")); said++)
        end = said; // a child's comes first
    for (const char *called; (called = strstr(at, "destructor __dtor_")); at = called + 1) {
        CHECK(end && called < end);
        if (!strncmp(called, "destructor __dtor_third", 23))
            CHECK(strstr(called, "second") && strstr(called, "second") < strstr(called, "first"));
    }
    if (!strncmp(which, "plugin", 6)) { // not only at the end
        const char *closed = again_text;
        for (int round = 0; (closed = strstr(closed, "closed\n")); closed++, round++) {
            char kept = *closed;
            *(char *)closed = 0;
            CHECK_EQ(again_count("image: destroyed"), (round + 1) * COUNT * devices);
            CHECK_EQ(again_count("destructor __dtor"), is_real * (round + 1) * COUNT * devices);
            *(char *)closed = kept;
        }
    }
    if (check_result())
        printf("%s:\n%s", which, again_text);
}

int main(int count, char **arguments)
{
    if (count > 1)
        return scenario(arguments[1]);
    check("main", 1, 1, 0);
    check("plugin", 4, 4, 0);
    check("plugin alone", 3, 3, 0); // all that is registered is loaded
    check("open plugin", 2, 2, 0);
    check("anew", 3, 3, 0);
    check("exit", 1, 1, 3);
    check("queued", 1, 1, 0);
    check("child", 1, 1, 0);
    check("quick", 1, 0, 0);
    return check_result();
}
