// what: the same as exceptions.cpp, with GANGWAY_WORKERS=1
// env: GANGWAY_WORKERS=1
// threads: 8,17
// compilers: gcc, clang>=19
// mode: preload
// timeout: 20
// ours: the variables are of this library alone
// flags: all -std=c++17
#include "identity_exceptions.h"
