// what: a task runs with the storage of the thread whose number it reports, and a tied task keeps it
// threads: 1,2,8,17
#include "identity_tasks.h"
