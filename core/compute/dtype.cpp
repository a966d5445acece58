#include "core/compute/dtype.h"

namespace vergence {

std::size_t sizeOf(DType type)
{
    switch (type) {
    case DType::F64:
    case DType::I64:
        return 8;
    case DType::F32:
    case DType::I32:
        return 4;
    case DType::F16:
    case DType::BF16:
    case DType::U16:
        return 2;
    case DType::U8:
        return 1;
    }
    return 0;
}

std::string_view nameOf(DType type)
{
    switch (type) {
    case DType::F32:
        return "F32";
    case DType::F64:
        return "F64";
    case DType::F16:
        return "F16";
    case DType::BF16:
        return "BF16";
    case DType::I32:
        return "I32";
    case DType::I64:
        return "I64";
    case DType::U8:
        return "U8";
    case DType::U16:
        return "U16";
    }
    return "?";
}

} // namespace vergence
