// what: every thread throws, waits at barriers inside the handlers, and rethrows what it caught first
// threads: 1,4,17
// flags: all -std=c++17
#include "identity_exceptions.h"
