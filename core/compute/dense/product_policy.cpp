#include "core/compute/dense/product_policy.h"

namespace vergence {

namespace {

thread_local const ProductPolicyScope* t_scope = nullptr;

} // namespace

ProductChoice::~ProductChoice() = default;

ProductPolicyScope::ProductPolicyScope(const ProductPolicy& policy)
    : m_policy(policy),
      m_outer(t_scope)
{
    t_scope = this;
}

ProductPolicyScope::~ProductPolicyScope()
{
    t_scope = m_outer;
}

ProductPolicy ProductPolicyScope::inForce(const ProductPolicy& chosen)
{
    return t_scope != nullptr ? t_scope->m_policy : chosen;
}

} // namespace vergence
