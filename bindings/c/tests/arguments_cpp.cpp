/// The same calls as C++.
#include "arguments.c"
