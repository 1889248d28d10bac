/* Bodies that attract each other, in strips of different sizes: a task for each pair of strips adds up what
 * one does to the other, one for each strip moves its bodies. */
#include "graphs.h"

enum { MOST_STRIPS = 16 };
struct body {
    double x, y, z, mass;
};
struct motion {
    double x, y, z, unused;
};
static long strips, steps, first_size, count[MOST_STRIPS];
static struct body *bodies[MOST_STRIPS];
static struct motion *speeds[MOST_STRIPS], *forces[MOST_STRIPS];
#define STEP 1e-3

#pragma omp declare target
static inline void attract(struct motion *force, const struct body *on, const struct body *by, long number)
{
    for (long i = 0; i < number; i++) {
        double x = by[i].x - on->x, y = by[i].y - on->y, z = by[i].z - on->z,
               square = x * x + y * y + z * z + 1e-3;
        double pull = by[i].mass / (square * __builtin_sqrt(square));
        force->x += pull * x, force->y += pull * y, force->z += pull * z;
    }
}
static inline void move(struct body *body, struct motion *speed, struct motion *force)
{
    speed->x += STEP * force->x, speed->y += STEP * force->y, speed->z += STEP * force->z;
    body->x += STEP * speed->x, body->y += STEP * speed->y, body->z += STEP * speed->z;
    force->x = force->y = force->z = 0;
}
#pragma omp end declare target

static void nbody_prepare(int is_small)
{
    strips = is_small ? 4 : MOST_STRIPS, steps = is_small ? 3 : 4, first_size = is_small ? 130 : 2000;
    for (long s = 0; s < strips; s++) { /* up to four times as many in the middle */
        long from_end = s < strips - 1 - s ? s : strips - 1 - s;
        count[s] = first_size + 3 * first_size * from_end / (strips / 2);
        bodies[s] = room_for((size_t)count[s], sizeof **bodies);
        speeds[s] = room_for((size_t)count[s], sizeof **speeds);
        forces[s] = room_for((size_t)count[s], sizeof **forces);
    }
}

static double between(unsigned long number)
{
    return (double)(mixed(number) % 2000001) / 1000000 - 1;
}

static struct body first_body(long s, long i)
{
    unsigned long number = 4ul * (unsigned long)(s * 1000000 + i);
    return (struct body){between(number) + (double)s, between(number + 1), between(number + 2),
                         1.5 + between(number + 3)};
}

static void nbody_begin(void)
{
    for (long s = 0; s < strips; s++) {
        for (long i = 0; i < count[s]; i++)
            bodies[s][i] = first_body(s, i);
        memset(speeds[s], 0, (size_t)count[s] * sizeof **speeds);
        memset(forces[s], 0, (size_t)count[s] * sizeof **forces);
    }
}

static void pull(long s, long by)
{
    struct body *mine = bodies[s], *others = bodies[by];
    struct motion *force = forces[s];
    long n = count[s], m = count[by];
    int device = place_in_blocks(s, strips);
#pragma omp target SPREAD nowait depend(in : mine[0], others[0]) depend(inout : force[0]) \
    map(to : mine[0 : n], others[0 : m]) map(tofrom : force[0 : n]) firstprivate(n, m) device(device)
    for (long i = 0; i < n; i++)
        attract(&force[i], &mine[i], others, m);
}

/* A strip on itself: what is mapped once must not be mapped by another name, too. */
static void pull_itself(long s)
{
    struct body *mine = bodies[s];
    struct motion *force = forces[s];
    long n = count[s];
    int device = place_in_blocks(s, strips);
#pragma omp target SPREAD nowait depend(in : mine[0]) depend(inout : force[0]) map(to : mine[0 : n]) \
    map(tofrom : force[0 : n]) firstprivate(n) device(device)
    for (long i = 0; i < n; i++)
        attract(&force[i], &mine[i], mine, n);
}

static void move_all(long s)
{
    struct body *mine = bodies[s];
    struct motion *force = forces[s], *speed = speeds[s];
    long n = count[s];
    int device = place_in_blocks(s, strips);
#pragma omp target SPREAD nowait depend(inout : mine[0], force[0], speed[0]) \
    map(tofrom : mine[0 : n], force[0 : n], speed[0 : n]) firstprivate(n) device(device)
    for (long i = 0; i < n; i++)
        move(&mine[i], &speed[i], &force[i]);
}

static void nbody_run(void)
{
    for (long step = 0; step < steps; step++) {
        for (long s = 0; s < strips; s++)
            for (long by = 0; by < strips; by++)
                if (by == s)
                    pull_itself(s);
                else
                    pull(s, by);
        for (long s = 0; s < strips; s++)
            move_all(s);
    }
}

/* All bodies after all steps, by the host, once. */
static struct body **wanted(void)
{
    static struct body *kept[MOST_STRIPS];
    if (kept[0])
        return kept;
    struct motion *of_host[MOST_STRIPS], *speed[MOST_STRIPS];
    for (long s = 0; s < strips; s++) {
        kept[s] = room_for((size_t)count[s], sizeof **kept);
        of_host[s] = room_for((size_t)count[s], sizeof **of_host);
        speed[s] = room_for((size_t)count[s], sizeof **speed);
        for (long i = 0; i < count[s]; i++)
            kept[s][i] = first_body(s, i);
    }
    for (long step = 0; step < steps; step++) {
        for (long s = 0; s < strips; s++)
#pragma omp parallel for
            for (long i = 0; i < count[s]; i++)
                for (long by = 0; by < strips; by++)
                    attract(&of_host[s][i], &kept[s][i], kept[by], count[by]);
        for (long s = 0; s < strips; s++)
            for (long i = 0; i < count[s]; i++)
                move(&kept[s][i], &speed[s][i], &of_host[s][i]);
    }
    for (long s = 0; s < strips; s++)
        free(of_host[s]), free(speed[s]);
    return kept;
}

/* A GPU may round a product and a sum at once: the answers are the same but for that. */
static int is_near(double found, double right)
{
    return __builtin_fabs(found - right) <= 1e-9 * (1 + __builtin_fabs(right));
}

static void nbody_check(void)
{
    struct body **host = wanted();
    for (long s = 0; s < strips; s++)
        for (long i = 0; i < count[s]; i++) {
            struct body found = bodies[s][i], right = host[s][i], began = first_body(s, i);
            MUST(is_near(found.x, right.x) && is_near(found.y, right.y) && is_near(found.z, right.z),
                 "N-body: body %ld of strip %ld is at %.12g, %.12g, %.12g, not %.12g, %.12g, %.12g", i, s,
                 found.x, found.y, found.z, right.x, right.y, right.z);
            MUST(found.x != began.x, "N-body: body %ld of strip %ld has not moved", i, s);
        }
}

const struct graph nbody_graph = {"N-body", nbody_prepare, nbody_begin, nbody_run, nbody_check};
