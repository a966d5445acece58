#pragma once

// Under __CUDACC__ only: the conversions of 16-bit floats that half.h writes down.
#include <cuda_fp16.h>
