// what: ompx_describe says the version, the workers, how storage is kept apart and the settings, in as many bytes as there is room for
// ours: ompx_* is Gangway's
// mode: link
#include "check.h"
#include "ompx.h"
#include <stdlib.h>

static char *whole;

static int has(const char *line)
{
    const char *found = strstr(whole, line);
    return found && (found == whole || found[-1] == '\n');
}

int main(void)
{
    size_t bytes = ompx_describe(NULL, 0);
    whole = malloc(bytes + 1);
    CHECK_EQ(ompx_describe(whole, bytes + 1), bytes);
    CHECK_EQ(strlen(whole), bytes);
    CHECK(has("version=") && has("openmp=202111\n") && has("workers=") && has("processors=") &&
          has("cores=") && has("setting.OMP_SCHEDULE="));
    CHECK(has("tls=donor\n") || has("tls=kernel\n") || has("tls=shared\n"));
    CHECK(has("tls_reason="));
    CHECK(whole[bytes - 1] == '\n');
    char few[8];
    memset(few, 'x', sizeof few);
    CHECK_EQ(ompx_describe(few, sizeof few - 1), bytes);
    CHECK(memcmp(few, whole, 6) == 0 && few[6] == 0 && few[7] == 'x');
    free(whole);
    return check_result();
}
