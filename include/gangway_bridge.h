/* gangway_bridge.h - the table of functions of libgangway_mpi_openmpi.so and libgangway_mpi_mpich.so.
 *
 * The bridge carries active messages and large blocks of memory between the MPI ranks of a program. It knows
 * nothing of OpenMP. It is opened with dlopen (RTLD_NOW | RTLD_LOCAL) by whoever needs it; nothing links it,
 * and whoever uses it needs no MPI to build. The protocol is described in docs/protocols/bridge.md, the
 * library and its figures in docs/bridge.md.
 *
 *     const struct gangway_bridge_table *(*get)(uint32_t) = dlsym(library, "gangway_bridge_table");
 *     const struct gangway_bridge_table *table = get(GANGWAY_BRIDGE_ABI);      // NULL: another version
 *
 * Threads. Every function may be called from any kernel thread or user-level thread of the process, at the
 * same time, unless its comment says otherwise. No function waits, except init, open, wait_barrier,
 * wait_quiet and finalize.
 *
 * Callbacks (handlers, `done`, `idle`, `allow`) run inside whatever call makes progress, one at a time for
 * the whole bridge. They must be short and must not wait, suspend the user-level thread they run on, or call
 * a function that waits. They may call send, put, get, accept, refuse, flush and the queries.
 */
#ifndef GANGWAY_BRIDGE_H
#define GANGWAY_BRIDGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. A library answers for the versions it knows. */
#define GANGWAY_BRIDGE_ABI 2u

/* Results. BUSY is no error: nothing was done, call progress (or let others do it) and try again. */
enum {
    GANGWAY_BRIDGE_OK = 0,
    GANGWAY_BRIDGE_BUSY = 1,
    GANGWAY_BRIDGE_E_ARGUMENT = -1,  /* a null pointer, a rank or handler that does not exist */
    GANGWAY_BRIDGE_E_STATE = -2,     /* not open yet, open already, or finalized */
    GANGWAY_BRIDGE_E_TOO_LARGE = -3, /* more bytes or blocks than a message holds */
    GANGWAY_BRIDGE_E_MPI = -4,       /* an MPI call failed */
    GANGWAY_BRIDGE_E_LAUNCHER = -5,  /* this is not the bridge of the MPI that started the program */
    GANGWAY_BRIDGE_E_THREADS = -6,   /* MPI does not grant the thread level */
    GANGWAY_BRIDGE_E_MISMATCH = -7,  /* ranks run different executables or modules */
    GANGWAY_BRIDGE_E_TWICE = -8,     /* init was called before */
    GANGWAY_BRIDGE_E_REFUSED = -9,   /* the other rank did not allow or accept a block */
    GANGWAY_BRIDGE_E_ABI = -10,      /* a structure of another version */
    GANGWAY_BRIDGE_E_PROTOCOL = -11  /* a message that makes no sense, or has no handler */
};

/* Flags of send. */
#define GANGWAY_BRIDGE_MORE \
    1u /* more follows for this rank: keep it until flush, progress or a full packet */

/* Thread levels, as MPI orders them. */
enum { GANGWAY_BRIDGE_SERIALIZED = 2, GANGWAY_BRIDGE_MULTIPLE = 3 };

/* Who makes progress. IDLE: whoever calls progress. DEDICATED: a thread of the bridge does as well. */
enum { GANGWAY_BRIDGE_IDLE = 0, GANGWAY_BRIDGE_DEDICATED = 1 };

struct gangway_bridge; /* opaque: one end of the bridge */

/* `status` is OK or one of the errors. Called once for each operation that was begun. */
typedef void (*gangway_bridge_done)(void *context, int status);

/* Something all ranks must have alike, such as a module: a name for the message and a hash of its contents.
 */
struct gangway_bridge_identity {
    const char *name;
    uint64_t hash;
};

struct gangway_bridge_config {
    uint32_t size; /* sizeof(struct gangway_bridge_config) */
    uint32_t
        thread_level;   /* the least that will do; SERIALIZED where the program itself makes no MPI calls */
    uint32_t progress;  /* IDLE or DEDICATED */
    uint32_t nap_us;    /* longest sleep of the dedicated thread between two looks; 0: 500 */
    uint32_t window;    /* packets in flight to one rank before it must have read some; 0: 32 */
    uint32_t queue_kib; /* KiB that wait for one rank before send says BUSY; 0: 1024 */
    uint32_t mpi_only;  /* 0: packets between ranks of one machine go through shared memory, if all ranks have
                           some; 1: MPI carries all */
    uint32_t reserved;  /* 0 */
    const struct gangway_bridge_identity
        *identities; /* compared between ranks, in order, after the executable itself */
    uint64_t identity_count;
    /* Called instead of ending all ranks (a line on stderr and MPI_Abort) when something goes wrong that no
     * call can return; NULL: the default. After it the bridge is dead: everything returns E_STATE. */
    void (*failed)(void *context, int code, const char *text);
    void *context; /* for `failed` and `allow` */
    /* Asked before another rank reads (write == 0) or writes memory of this one by get or put. 0 refuses.
     * NULL: all is allowed. */
    int (*allow)(void *context, uint32_t rank, uint64_t address, uint64_t bytes, int write);
};

/* Bytes of a message; the message is its pieces one after the other. */
struct gangway_bridge_piece {
    const void *bytes;
    uint64_t length;
};

/* A block that goes along with a message, straight from the sender's memory: it must stay as it is until
 * `done`, which says that the receiver has it (OK) or did not want it (E_REFUSED). `done` may be NULL. */
struct gangway_bridge_block {
    const void *from;
    uint64_t bytes;
    gangway_bridge_done done;
    void *context;
};

/* The same block as the receiver sees it. To be accepted or refused exactly once, in the handler or at any
 * later time; the sender's operation lasts until then. May be copied. */
struct gangway_bridge_arrival {
    uint64_t bytes;
    uint32_t source;
    uint32_t ticket;
};

/* What a handler gets. Everything in it is valid during the call only; `bytes` is aligned to 16. */
struct gangway_bridge_message {
    struct gangway_bridge *bridge;
    const void *bytes;
    uint64_t length;
    const struct gangway_bridge_arrival *blocks;
    uint32_t block_count;
    uint32_t source;
};

typedef void (*gangway_bridge_handler)(void *context, const struct gangway_bridge_message *message);

/* Since open. */
struct gangway_bridge_counters {
    uint64_t messages_sent;
    uint64_t messages_handled;
    uint64_t packets_sent; /* MPI messages that carried them */
    uint64_t packets_received;
    uint64_t credit_packets;   /* MPI messages that only returned credits */
    uint64_t block_bytes_sent; /* by blocks, put and get */
    uint64_t busy;             /* how often BUSY was returned */
    uint64_t polls;            /* looks at MPI */
    uint64_t transfers;        /* blocks, puts and gets of this rank that are under way now */
};

struct gangway_bridge_table {
    uint32_t abi;               /* GANGWAY_BRIDGE_ABI */
    uint32_t size;              /* sizeof(struct gangway_bridge_table) */
    const char *implementation; /* "openmpi" or "mpich" */

    /* Starts MPI unless the program has, compares the ranks and makes the bridge. Collective; once per
     * process. On failure one line has been printed by one rank, MPI is finalized if init had started it,
     * every rank gets an error, and the process should exit with a status other than 0. */
    int (*init)(const struct gangway_bridge_config *config, struct gangway_bridge **bridge);
    uint32_t (*rank)(const struct gangway_bridge *bridge);
    uint32_t (*ranks)(const struct gangway_bridge *bridge);
    /* Most bytes in a message, with no blocks; each block takes 16 of them. A message has at most 255 blocks.
     */
    uint64_t (*most_bytes)(const struct gangway_bridge *bridge);

    /* Says who gets messages for `number` (0..1023). Between init and open only, alike on all ranks. */
    int (*handle)(struct gangway_bridge *bridge, uint32_t number, gangway_bridge_handler handler,
                  void *context);
    /* From here on messages arrive. Not collective: what comes early waits. */
    int (*open)(struct gangway_bridge *bridge);

    /* Sends a message; the bytes are copied. Messages of one rank to another are handled in the order of
     * sending. BUSY when too much waits for that rank; never BUSY for that reason inside callbacks. */
    int (*send)(struct gangway_bridge *bridge, uint32_t to, uint32_t handler,
                const struct gangway_bridge_piece *pieces, uint32_t piece_count,
                const struct gangway_bridge_block *blocks, uint32_t block_count, uint32_t flags);
    /* Takes a block into `into`; `done` says when it is there. */
    int (*accept)(struct gangway_bridge *bridge, const struct gangway_bridge_arrival *arrival, void *into,
                  gangway_bridge_done done, void *context);
    int (*refuse)(struct gangway_bridge *bridge, const struct gangway_bridge_arrival *arrival);
    /* Writes memory of another rank. `done`: it is there, and `from` may change. Not ordered with messages.
     */
    int (*put)(struct gangway_bridge *bridge, uint32_t to, const void *from, uint64_t address, uint64_t bytes,
               gangway_bridge_done done, void *context);
    /* Reads memory of another rank. */
    int (*get)(struct gangway_bridge *bridge, uint32_t from, void *into, uint64_t address, uint64_t bytes,
               gangway_bridge_done done, void *context);
    /* Copies now, by the calling thread and without the other rank, from memory of a rank of this machine to
     * `here`, or (write != 0) the other way. E_REFUSED: that rank's memory is not reached so (it is on
     * another machine, the system forbids it, `allow` is to be asked, the address is wrong); put and get may.
     * What was sent to the rank before need not have been handled there. */
    int (*copy)(struct gangway_bridge *bridge, uint32_t rank, void *here, uint64_t there, uint64_t bytes,
                int write);
    /* Sends what was kept because of MORE. */
    int (*flush)(struct gangway_bridge *bridge);

    /* One look: sends, receives, calls handlers. Returns how many things happened (0: nothing to do, or
     * another thread is looking), or an error. Cheap enough for idle workers. */
    int (*progress)(struct gangway_bridge *bridge);

    /* Collective operations; at any time one or more may be under way, begun in the same order on every rank.
     * barrier: `done` once all ranks have begun it. quiet: `done` once, on all ranks together, `idle` answers
     * 1 and no message or block is under way; `idle` (NULL: always 1) is asked repeatedly and may go back to
     * 0 when a message brings work. */
    int (*barrier)(struct gangway_bridge *bridge, gangway_bridge_done done, void *context);
    int (*quiet)(struct gangway_bridge *bridge, int (*idle)(void *context), void *context,
                 gangway_bridge_done done);
    /* The same, and wait for it by making progress; for a kernel thread that has nothing else to do. */
    int (*wait_barrier)(struct gangway_bridge *bridge);
    int (*wait_quiet)(struct gangway_bridge *bridge, int (*idle)(void *context), void *context);

    /* Collective: waits until nothing is under way between any ranks, then takes the bridge down, and MPI
     * with it if init started it. No other call may be under way in another thread. `bridge` is invalid
     * afterwards. */
    int (*finalize)(struct gangway_bridge *bridge);

    void (*counters)(const struct gangway_bridge *bridge, struct gangway_bridge_counters *into);
    /* Bytes that wait in this process for `rank`. */
    uint64_t (*waiting)(const struct gangway_bridge *bridge, uint32_t rank);
    /* A sentence for a result. */
    const char *(*error_text)(int code);
    /* Prints a line that names the rank and ends all ranks with status 1. Does not return. */
    void (*abort)(struct gangway_bridge *bridge, const char *why);
};

/* NULL if the library does not know this version. */
const struct gangway_bridge_table *gangway_bridge_table(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
