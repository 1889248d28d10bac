/* A described machine instead of the one that is there, from the first OpenMP call on. */
#ifndef MACHINE_H
#define MACHINE_H
#include "check.h"
#include <unistd.h>

static char machine_file[] = "/tmp/gangway-topology-XXXXXX";

/* Before the first OpenMP call; `text` as for GANGWAY_TOPOLOGY. */
static void describe_machine(const char *text)
{
    int file = mkstemp(machine_file);
    CHECK_EQ(write(file, text, strlen(text)), strlen(text));
    close(file);
    setenv("GANGWAY_TOPOLOGY", machine_file, 1);
}

/* After the first OpenMP call. */
static void machine_is_known(void)
{
    unlink(machine_file);
}
#endif
