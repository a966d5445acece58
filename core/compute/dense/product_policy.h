#pragma once

namespace vergence {

/// How products are computed where a device leaves a choice.
struct ProductPolicy {
    /// Operands of F32 are rounded to 10 bits behind the point, which tensor cores multiply several
    /// times as fast; sums stay in F32.
    bool usesTf32 = false;
    /// The algorithm of a shape is the fastest of several, timed once; else the first that the
    /// library names, the same in every process.
    bool isTimed = true;
};

/// What the DenseMath of a device with a choice is besides. Thread-safe.
class ProductChoice {
public:
    virtual ~ProductChoice();
    /// From the next product on.
    virtual void setPolicy(const ProductPolicy& policy) = 0;
};

} // namespace vergence
