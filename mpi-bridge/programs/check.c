/* Checks of the bridge over a real MPI: check LIBRARY NAME, started by mpirun with 1, 2 or 4 ranks.
 *
 * Each check ends with "ok NAME" from rank 0, or with a line about what is not so and a status that is not 0.
 */
#include "common.h"
#include <signal.h>

enum { NUMBERED = 1, ANSWER = 2, BLOCK = 3, RANDOM = 4, SUMS = 5, TASK = 6, PING = 7, NOBODY = 8 };

/* ---- stream: 20,000 messages of 64 bytes to the next rank and as many from the one before, in order ---- */

static uint64_t next_number;

static void numbered(void *context, const struct gangway_bridge_message *m)
{
    const uint64_t *words = m->bytes;
    (void)context;
    DEMAND(m->length == 64 && m->source == (me + all - 1) % all && (uintptr_t)words % 16 == 0);
    DEMAND(words[0] == next_number && is_filled(words + 1, 7, words[0]));
    next_number++;
}

static void stream(void)
{
    enum { COUNT = 20000 };
    uint64_t words[8];
    for (uint64_t i = 0; i < COUNT; i++) {
        words[0] = i;
        fill(words + 1, 7, i);
        send_to((me + 1) % all, NUMBERED, words, 64, i % 16 ? GANGWAY_BRIDGE_MORE : 0);
    }
    DEMAND(T->flush(B) == GANGWAY_BRIDGE_OK);
    while (next_number < COUNT)
        look();
    DEMAND(T->wait_quiet(B, NULL, NULL) == GANGWAY_BRIDGE_OK);
    struct gangway_bridge_counters c;
    T->counters(B, &c);
    DEMAND(c.messages_sent == COUNT && c.messages_handled == COUNT);
    DEMAND(c.packets_sent < COUNT / 4); /* they share packets */
}

/* ---- large: 64 MiB as a block, by put and by get, each rank with the next ---- */

enum { LARGE = 64 << 20, WORDS = LARGE / 8 };
static uint64_t *inbox;
static int arrived;

static void take_block(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    DEMAND(m->block_count == 1 && m->blocks[0].bytes == LARGE && m->blocks[0].source == m->source);
    DEMAND(T->accept(B, &m->blocks[0], inbox, mark, &arrived) == GANGWAY_BRIDGE_OK);
}

/* Every rank's addresses, notified by messages. */
static uint64_t addresses[64][2];
static uint32_t notified;

static void answer(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    memcpy(addresses[m->source], m->bytes, 16);
    notified++;
}

static void tell_addresses(const void *first, const void *second)
{
    uint64_t mine[2] = {(uintptr_t)first, (uintptr_t)second};
    for (uint32_t to = 0; to < all; to++)
        send_to(to, ANSWER, mine, 16, 0);
    while (notified < all)
        look();
}

static void large(void)
{
    uint32_t next = (me + 1) % all, before = (me + all - 1) % all;
    uint64_t *mine = malloc(LARGE), *put_here = calloc(1, LARGE), *got = calloc(1, LARGE);
    inbox = calloc(1, LARGE);
    fill(mine, WORDS, me * 1000003u);
    tell_addresses(mine, put_here);
    int sent = 0, put = 0, get = 0;
    struct gangway_bridge_block block = {mine, LARGE, mark, &sent};
    DEMAND(T->send(B, next, BLOCK, NULL, 0, &block, 1, 0) == GANGWAY_BRIDGE_OK);
    DEMAND(T->put(B, next, mine, addresses[next][1], LARGE, mark, &put) == GANGWAY_BRIDGE_OK);
    DEMAND(T->get(B, next, got, addresses[next][0], LARGE, mark, &get) == GANGWAY_BRIDGE_OK);
    while (!marked(&sent) || !marked(&put) || !marked(&get) || !marked(&arrived))
        look();
    DEMAND(sent == 1000 && put == 1000 && get == 1000 && arrived == 1000);
    DEMAND(T->wait_barrier(B) ==
           GANGWAY_BRIDGE_OK); /* the put into this rank is done when its sender passes */
    DEMAND(is_filled(inbox, WORDS, before * 1000003u));
    DEMAND(is_filled(put_here, WORDS, before * 1000003u));
    DEMAND(is_filled(got, WORDS, next * 1000003u));
    free(mine), free(put_here), free(got), free(inbox);
}

/* ---- random: everybody to everybody, all sizes, with blocks; each pair compares its checksums at the end
 * ---- */

struct totals {
    uint64_t count, sum;
};
static struct totals in[64], out[64];
static uint32_t agreed;

static uint64_t sum_of(const void *bytes, uint64_t length)
{
    uint64_t sum = length, word = 0;
    const char *at = bytes;
    for (; length >= 8; length -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum = mix(sum ^ word);
    }
    word = 0;
    memcpy(&word, at, length);
    return mix(sum ^ word);
}

struct taken {
    uint32_t source;
    uint64_t length;
    char bytes[];
};

static void taken(void *context, int status)
{
    struct taken *t = context;
    DEMAND(status == GANGWAY_BRIDGE_OK);
    in[t->source].count++;
    in[t->source].sum += sum_of(t->bytes, t->length);
    free(t);
}

static void random_message(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    in[m->source].count++;
    in[m->source].sum += sum_of(m->bytes, m->length);
    for (uint32_t i = 0; i < m->block_count; i++) {
        struct taken *t = malloc(sizeof *t + m->blocks[i].bytes);
        t->source = m->source;
        t->length = m->blocks[i].bytes;
        DEMAND(T->accept(B, &m->blocks[i], t->bytes, taken, t) == GANGWAY_BRIDGE_OK);
    }
}

static void compare(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    DEMAND(memcmp(m->bytes, &in[m->source], sizeof(struct totals)) == 0);
    agreed++;
}

static void freed(void *context, int status)
{
    DEMAND(status == GANGWAY_BRIDGE_OK);
    free(context);
}

/* One random message, with a block in every eighth. */
static void one_random(uint64_t draw)
{
    static __thread uint64_t bytes[2048];
    uint64_t most = T->most_bytes(B) - 64, length = draw % 16 ? draw >> 8 & 255 : (draw >> 8) % most;
    uint32_t to = (uint32_t)(draw >> 40) % all;
    fill(bytes, length / 8 + 1, draw);
    uint64_t block_length = (draw >> 20) % (draw % 1024 == 0 ? 1 << 20 : 20000);
    uint64_t *data = draw % 8 ? NULL : malloc(block_length + 8);
    if (data)
        fill(data, block_length / 8 + 1, ~draw);
    uint64_t sum = sum_of(bytes, length) + (data ? sum_of(data, block_length) : 0);
    struct gangway_bridge_block block = {data, block_length, freed, data};
    struct gangway_bridge_piece pieces[2] = {{bytes, length / 3},
                                             {(char *)bytes + length / 3, length - length / 3}};
    int result;
    while ((result = T->send(B, to, RANDOM, pieces, 2, &block, data != NULL,
                             draw >> 60 ? GANGWAY_BRIDGE_MORE : 0)) == GANGWAY_BRIDGE_BUSY)
        look();
    DEMAND(result == GANGWAY_BRIDGE_OK);
    __atomic_add_fetch(&out[to].count, 1 + (data != NULL), __ATOMIC_RELAXED);
    __atomic_add_fetch(&out[to].sum, sum, __ATOMIC_RELAXED);
}

static void *random_sender(void *context)
{
    uint64_t start = (uintptr_t)context;
    for (uint64_t i = 0; i < 6000; i++) {
        one_random(mix(start + i));
        if (i % 64 == 0)
            look();
    }
    return NULL;
}

static void compare_all(void)
{
    DEMAND(T->wait_quiet(B, NULL, NULL) == GANGWAY_BRIDGE_OK);
    for (uint32_t to = 0; to < all; to++)
        send_to(to, SUMS, &out[to], sizeof out[to], 0);
    while (agreed < all)
        look();
}

static void random_traffic(void)
{
    random_sender((void *)(uintptr_t)(me * 7919u));
    compare_all();
}

/* The same from three threads at once. */
static void threads(void)
{
    pthread_t more[2];
    for (uintptr_t i = 0; i < 2; i++)
        DEMAND(pthread_create(&more[i], NULL, random_sender,
                              (void *)((uintptr_t)me * 7919u + 100000u * (i + 1))) == 0);
    random_sender((void *)(uintptr_t)(me * 7919u));
    for (int i = 0; i < 2; i++)
        pthread_join(more[i], NULL);
    compare_all();
}

/* ---- quiet: a tree of tasks that spreads over the ranks; quiescence must come after the last ---- */

static uint64_t todo[1 << 16], todo_count, ran;
static int running; /* the last task taken has not sent all its children yet */
static pthread_mutex_t tasks =
    PTHREAD_MUTEX_INITIALIZER; /* in dedicated mode messages come in another thread */

static void task(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    pthread_mutex_lock(&tasks);
    DEMAND(todo_count < sizeof todo / sizeof *todo);
    memcpy(&todo[todo_count++], m->bytes, 8);
    pthread_mutex_unlock(&tasks);
}

static int nothing_to_do(void *context)
{
    (void)context;
    pthread_mutex_lock(&tasks);
    int idle = todo_count == 0 && !running;
    pthread_mutex_unlock(&tasks);
    return idle;
}

static void quiet(void)
{
    enum { DEPTH = 12 };
    int ended = 0;
    uint64_t draw = me;
    if (me == all - 1)
        todo[todo_count++] = DEPTH;
    DEMAND(T->quiet(B, nothing_to_do, &ended, mark) == GANGWAY_BRIDGE_OK);
    while (!marked(&ended)) {
        look();
        pthread_mutex_lock(&tasks);
        running = todo_count > 0;
        uint64_t depth = running ? todo[--todo_count] : 0;
        ran += (uint64_t)running;
        pthread_mutex_unlock(&tasks);
        for (int child = 0; child < 2 && depth > 0; child++) {
            uint64_t less = depth - 1;
            send_to((uint32_t)((draw = mix(draw + 1)) % all), TASK, &less, 8, 0);
        }
    }
    DEMAND(ended == 1000 && todo_count == 0);
    send_to(0, ANSWER, (uint64_t[2]){ran, 0}, 16, 0);
    while (me == 0 && notified < all)
        look();
    uint64_t total = 0;
    for (uint32_t r = 0; r < all; r++)
        total += addresses[r][0];
    DEMAND(me != 0 || total == (2u << DEPTH) - 1);
}

/* ---- compute: a rank that computes answers all the same, if a thread of the bridge makes progress ---- */

static double asked_at, answered_after;
static int answered;

static void ping(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    struct gangway_bridge_piece none = {NULL, 0};
    if (me != 0)
        DEMAND(T->send(B, m->source, PING, &none, 1, NULL, 0, 0) == GANGWAY_BRIDGE_OK);
    else {
        answered_after = now() - asked_at;
        __atomic_store_n(&answered, 1, __ATOMIC_RELEASE);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rank 0 asks rank 1, which computes for 0.4 s and makes no call. Prints the median of the answers' times in
 * us, up to now. */
static void compute(void)
{
    enum { QUESTIONS = 100 };
    double until = now() + 0.4, times[QUESTIONS];
    int count = 0;
    DEMAND(all >= 2);
    DEMAND(T->wait_barrier(B) == GANGWAY_BRIDGE_OK);
    if (me == 1) {
        volatile double x = 1;
        while (now() < until)
            x = x * 1.0000001 + 1e-9;
    }
    while (me == 0 && count < QUESTIONS && (count == 0 || now() < until - 0.05)) {
        answered = 0;
        asked_at = now();
        send_to(1, PING, NULL, 0, 0);
        while (!__atomic_load_n(&answered, __ATOMIC_ACQUIRE)) {
            look();
            usleep(20); /* the core may be the other rank's */
        }
        times[count++] = answered_after * 1e6;
    }
    DEMAND(T->wait_barrier(B) == GANGWAY_BRIDGE_OK);
    if (me != 0)
        return;
    qsort(times, (size_t)count, sizeof *times, by_size);
    printf("answers %d median %.0f us least %.0f us\n", count, times[count / 2], times[0]);
}

/* ---- what must fail, and how ---- */

static void twice(void)
{
    struct gangway_bridge_config c = usual();
    struct gangway_bridge *other = NULL;
    DEMAND(T->init(&c, &other) == GANGWAY_BRIDGE_E_TWICE && other == NULL);
    c.size--;
    DEMAND(T->init(&c, &other) == GANGWAY_BRIDGE_E_ABI);
    DEMAND(T->init(NULL, &other) == GANGWAY_BRIDGE_E_ARGUMENT);
    DEMAND(strlen(T->error_text(GANGWAY_BRIDGE_E_TWICE)) > 10);
    DEMAND(T->send(NULL, 0, 0, NULL, 0, NULL, 0, 0) == GANGWAY_BRIDGE_E_ARGUMENT);
    DEMAND(T->send(B, all, PING, NULL, 0, NULL, 0, 0) == GANGWAY_BRIDGE_E_ARGUMENT);
    DEMAND(T->send(B, 0, PING, NULL, 1, NULL, 0, 0) == GANGWAY_BRIDGE_E_ARGUMENT);
}

/* Rank 0 sends what nobody handles, all others wait: everybody must end. */
static void unhandled(void)
{
    send_to(all - 1, NOBODY, "?", 1, 0);
    for (;;)
        look();
}

/* The last rank gives up in the middle, the others wait for it. */
static void give_up(void)
{
    if (me == all - 1)
        T->abort(B, "this is a test of abort");
    for (;;)
        look();
}

/* The last rank dies, the others wait for it. */
static void killed(void)
{
    if (me == all - 1)
        raise(SIGKILL);
    for (;;)
        look();
}

static void nothing(void) {}

static const struct {
    const char *name;
    void (*run)(void);
} checks[] = {
    {"stream", stream}, {"large", large},     {"random", random_traffic}, {"threads", threads},
    {"quiet", quiet},   {"compute", compute}, {"twice", twice},           {"unhandled", unhandled},
    {"abort", give_up}, {"killed", killed},   {"nothing", nothing},       {"modules", nothing},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    load(argv[1]);
    struct gangway_bridge_config config = usual();
    /* Every rank claims another module here. */
    struct gangway_bridge_identity modules[2] = {{"module one", 1}, {"module two", (uint64_t)getpid()}};
    config.identities = modules;
    config.identity_count = strcmp(argv[2], "modules") == 0 ? 2 : 1;
    start(&config);
    gangway_bridge_handler handlers[] = {NULL,           numbered, answer, take_block,
                                         random_message, compare,  task,   ping};
    for (uint32_t i = 1; i < sizeof handlers / sizeof *handlers; i++)
        DEMAND(T->handle(B, i, handlers[i], NULL) == GANGWAY_BRIDGE_OK);
    DEMAND(T->open(B) == GANGWAY_BRIDGE_OK);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (strcmp(checks[i].name, argv[2]) != 0)
            continue;
        checks[i].run();
        uint32_t rank = me;
        DEMAND(T->finalize(B) == GANGWAY_BRIDGE_OK);
        if (rank == 0)
            printf("ok %s\n", argv[2]);
        return 0;
    }
    fprintf(stderr, "there is no check %s\n", argv[2]);
    return 2;
}
