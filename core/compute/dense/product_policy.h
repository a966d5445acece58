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
    /// From the next product on, for all that no ProductPolicyScope says otherwise of.
    virtual void setPolicy(const ProductPolicy& policy) = 0;
};

/// While one lives, products that its thread begins are computed so, whatever the device's choice:
/// others who use the device at the same time or later are not touched. The innermost counts.
class ProductPolicyScope {
public:
    explicit ProductPolicyScope(const ProductPolicy& policy);
    ~ProductPolicyScope();
    ProductPolicyScope(const ProductPolicyScope&) = delete;
    ProductPolicyScope& operator=(const ProductPolicyScope&) = delete;

    /// That of the calling thread; `chosen`, the device's, where it has none.
    static ProductPolicy inForce(const ProductPolicy& chosen);

private:
    ProductPolicy m_policy;
    const ProductPolicyScope* m_outer;
};

} // namespace vergence
