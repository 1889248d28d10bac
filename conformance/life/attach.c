/* A program makes a Java virtual machine, and the threads of its regions attach to it. The machine learns by
 * pthread_getattr_np where the stack of each is, protects pages at its lower end until the thread detaches,
 * and looks for references on it. */
#include "life.h"
#include <dlfcn.h>
#include <jni.h>
#include <omp.h>
enum { ROUNDS = 3, CALLS = 500, LETTERS = 1000000, REGIONS = 4, TASKS = 24 };
static JavaVM *machine;

/* Whether Java writes the number as C does. */
static int number(JNIEnv *java, jclass integer, jmethodID to_string, int value)
{
    char want[20];
    snprintf(want, sizeof want, "%d", value);
    jstring said = (*java)->CallStaticObjectMethod(java, integer, to_string, value);
    const char *got = said && !(*java)->ExceptionCheck(java) ? (*java)->GetStringUTFChars(java, said, 0) : 0;
    int right = got && !strcmp(got, want);
    if (got)
        (*java)->ReleaseStringUTFChars(java, said, got);
    (*java)->DeleteLocalRef(java, said);
    return right;
}
static int calls(JNIEnv *java, int from)
{
    jclass integer = (*java)->FindClass(java, "java/lang/Integer");
    jmethodID to_string = (*java)->GetStaticMethodID(java, integer, "toString", "(I)Ljava/lang/String;");
    int right = 1;
    for (int i = 0; i < CALLS && right; i++) {
        right = number(java, integer, to_string, from + i);
        jbyteArray garbage = (*java)->NewByteArray(java, 1 << 14);
        right = right && garbage;
        (*java)->DeleteLocalRef(java, garbage);
    }
    return right;
}
static void collect(JNIEnv *java)
{
    jclass system = (*java)->FindClass(java, "java/lang/System");
    (*java)->CallStaticVoidMethod(java, system, (*java)->GetStaticMethodID(java, system, "gc", "()V"));
}
/* Whether a search that recurses once for each letter ends with Java's exception, because the machine finds
 * the end of this thread's stack. */
static int overflows(JNIEnv *java)
{
    static char letters[LETTERS + 1];
    jclass pattern = (*java)->FindClass(java, "java/util/regex/Pattern");
    jmethodID matches =
        (*java)->GetStaticMethodID(java, pattern, "matches", "(Ljava/lang/String;Ljava/lang/CharSequence;)Z");
    jclass error = (*java)->FindClass(java, "java/lang/StackOverflowError");
#pragma omp critical
    memset(letters, 'a', LETTERS);
    (*java)->CallStaticBooleanMethod(java, pattern, matches, (*java)->NewStringUTF(java, "(a|b)*"),
                                     (*java)->NewStringUTF(java, letters));
    jthrowable thrown = (*java)->ExceptionOccurred(java);
    (*java)->ExceptionClear(java);
    return thrown && (*java)->IsInstanceOf(java, thrown, error);
}
/* What one thread does, attached or at home in the machine. All threads wait for each other in between. */
static int share(int id)
{
    JNIEnv *java;
    int at_home = (*machine)->GetEnv(machine, (void **)&java, JNI_VERSION_1_8) == JNI_OK, right = 1;
    int attached = at_home || (*machine)->AttachCurrentThread(machine, (void **)&java, 0) == JNI_OK;
    for (int round = 0; round < ROUNDS; round++) {
        right = attached && calls(java, 1000 * id + round) && right;
#pragma omp barrier
        if (attached && id == round)
            collect(java);
#pragma omp barrier
    }
    right = attached && overflows(java) && calls(java, id) && right;
#pragma omp barrier
    return right && (at_home || (*machine)->DetachCurrentThread(machine) == JNI_OK);
}
static int region_of(int threads)
{
    int right = 0;
#pragma omp parallel num_threads(threads) reduction(+ : right)
    right += share(omp_get_thread_num());
    return right == threads;
}
/* Threads that attach where they are not, and stay attached for the regions that follow. */
static JNIEnv *stays_attached(void)
{
    JNIEnv *java;
    int there = (*machine)->GetEnv(machine, (void **)&java, JNI_VERSION_1_8) == JNI_OK;
    return there || (*machine)->AttachCurrentThread(machine, (void **)&java, 0) == JNI_OK ? java : 0;
}
static int attached_regions(int threads)
{
    int right = 0;
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(threads) reduction(+ : right)
        {
            JNIEnv *java = stays_attached();
            int mine = java && calls(java, 1000 * omp_get_thread_num());
#pragma omp barrier
            if (mine && omp_get_thread_num() == region % threads)
                collect(java);
#pragma omp barrier
            right += mine && calls(java, region);
        }
    }
    return right == REGIONS * threads;
}
static int attached_tasks(int threads)
{
    int right = 0;
    for (int region = 0; region < REGIONS; region++)
#pragma omp parallel num_threads(threads)
#pragma omp single
        for (int i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i) shared(right)
        {
            JNIEnv *java = stays_attached();
            int mine = java && calls(java, i);
#pragma omp task firstprivate(i) shared(right)
            {
                JNIEnv *inner = stays_attached();
                int its = inner && calls(inner, 100 * i);
#pragma omp atomic
                right += its;
            }
            if (mine && i % 8 == 3)
                collect(java);
#pragma omp taskwait
            /* A tied task goes on in its thread. */
            mine = mine && calls(java, 7 * i);
#pragma omp atomic
            right += mine;
        }
    return right == 2 * REGIONS * TASKS;
}
static int attached_and_detached(int threads)
{
    return region_of(threads) && region_of(2) && region_of(threads);
}
/* The machine is made here and not linked: the C library is then found before it, after the OpenMP runtime.
 */
static int start(int (*does)(int), int threads, const char *storage)
{
    JNIEnv *java;
    JavaVMOption options[] = {{"-Xmx256m", 0}};
    JavaVMInitArgs arguments = {JNI_VERSION_1_8, 1, options, 0};
    jint (*create)(JavaVM **, void **, void *);
    setenv("GANGWAY_TLS", storage, 1);
    setenv("GANGWAY_WORKERS", "2", 1);
    void *library = dlopen(LIBJVM, RTLD_NOW);
    *(void **)&create = library ? dlsym(library, "JNI_CreateJavaVM") : 0;
    if (!create || create(&machine, (void **)&java, &arguments)) {
        puts("the virtual machine does not start");
        exit(77);
    }
    int right = does(threads);
    /* It would wait for those that are attached. */
    return right && (does != attached_and_detached || (*machine)->DestroyJavaVM(machine) == JNI_OK);
}
static int two(void)
{
    return start(attached_and_detached, 2, "auto");
}
static int six(void)
{
    return start(attached_and_detached, 6, "auto");
}
static int two_of_kernel_threads(void)
{
    return start(attached_and_detached, 2, "kernel");
}
static int six_of_kernel_threads(void)
{
    return start(attached_and_detached, 6, "kernel");
}
static int two_stay(void)
{
    return start(attached_regions, 2, "auto");
}
static int six_stay(void)
{
    return start(attached_regions, 6, "auto");
}
static int six_stay_as_kernel_threads(void)
{
    return start(attached_regions, 6, "kernel");
}
static int tasks_of_two(void)
{
    return start(attached_tasks, 2, "auto");
}
static int tasks_of_six(void)
{
    return start(attached_tasks, 6, "auto");
}
static int tasks_of_six_kernel_threads(void)
{
    return start(attached_tasks, 6, "kernel");
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"two", two},
                                        {"six", six},
                                        {"two_of_kernel_threads", two_of_kernel_threads},
                                        {"six_of_kernel_threads", six_of_kernel_threads},
                                        {"two_stay", two_stay},
                                        {"six_stay", six_stay},
                                        {"six_stay_as_kernel_threads", six_stay_as_kernel_threads},
                                        {"tasks_of_two", tasks_of_two},
                                        {"tasks_of_six", tasks_of_six},
                                        {"tasks_of_six_kernel_threads", tasks_of_six_kernel_threads},
                                        {0, 0}};
    return life(argc, argv, cases);
}
