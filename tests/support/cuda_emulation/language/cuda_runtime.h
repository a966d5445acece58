#pragma once

#include "tests/support/cuda_emulation/language/device_language.h"
