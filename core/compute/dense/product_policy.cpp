#include "core/compute/dense/product_policy.h"

namespace vergence {

ProductChoice::~ProductChoice() = default;

} // namespace vergence
