// what: a policy from a shared object is asked for each region, with its number and what is known of the devices; what is no policy is refused
// compilers: gcc
// devices: 3
// threads: 4
// mode: preload
// ours: placement
// expect-stderr: has no function ompx_sched_policy; this call changes nothing
// expect-stderr: /nowhere.so: cannot open shared object file
// expect-stderr-lines: 2
#include <unistd.h>
#include "place.h"
static const char policy[] =
    "#include <ompx.h>\n"
    "static int choose(void *data, uint64_t region, const ompx_sched_device_t *devices, uint32_t count)\n"
    "{\n"
    "    uint64_t *seen = data;\n"
    "    for (uint32_t d = 0; d < count; d++)\n"
    "        if (devices[d].present >= 4096)\n"
    "            return (int)d;\n"
    "    if (devices[0].room != UINT64_MAX || devices[0].need < 1000)\n"
    "        return -1;\n"
    "    return (int)((*seen)++ * 2 % count + 0 * region);\n"
    "}\n"
    "static uint64_t seen;\n"
    "static const ompx_sched_policy_t table = {1, 0, \"backwards\", &seen, choose};\n"
    "const ompx_sched_policy_t *ompx_sched_policy(void) { return &table; }\n";
static int build(const char *directory, const char *name, const char *text)
{
    char command[1024], file[128];
    static const char header[] = PLACE_H;
    int length = (int)(strrchr(header, '/') - header);
    snprintf(file, sizeof file, "%s/%s.c", directory, name);
    FILE *source = fopen(file, "w");
    fputs(text, source);
    fclose(source);
    snprintf(command, sizeof command, "LD_PRELOAD= cc -shared -fPIC -I%.*s/../../include -o %s/%s.so %s",
             length, header, directory, name, file);
    CHECK_EQ(system(command), 0);
    snprintf(command, sizeof command, "library:%s/%s.so", directory, name);
    return ompx_set_sched(command);
}
int main(void)
{
    char directory[] = "/tmp/placeXXXXXX", command[64], *there = malloc(4096);
    int at = -1;
    memset(there, 1, 4096);
    CHECK(mkdtemp(directory) != NULL);
    CHECK_EQ(build(directory, "empty", "int nothing;\n"), -1);
    CHECK_EQ(ompx_set_sched("library:/nowhere.so"), -1);
    CHECK_EQ(build(directory, "policy", policy), 0);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(where(2000), i * 2 % 3);
#pragma omp target enter data device(1) map(to : there[0 : 4096])
#pragma omp target device(ANY) map(to : there[0 : 4096]) map(from : at)
    at = omp_get_device_num();
    CHECK_EQ(at, 1);
#pragma omp target exit data device(1) map(delete : there[0 : 4096])
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK_EQ(system(command), 0);
    return check_result();
}
