#pragma once

// The library's functions are found by those who open it, whatever the build hides.
#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop
