#include "app/charts/zoom_stack.h"

#include <utility>

namespace vergence {

void ZoomStack::push(ZoomState state, bool isContinued)
{
    if (state == m_current)
        return;
    if (!isContinued || m_back.empty())
        m_back.push_back(std::move(m_current));
    m_forward.clear();
    m_current = std::move(state);
}

void ZoomStack::back()
{
    if (m_back.empty())
        return;
    m_forward.push_back(std::exchange(m_current, std::move(m_back.back())));
    m_back.pop_back();
}

void ZoomStack::forward()
{
    if (m_forward.empty())
        return;
    m_back.push_back(std::exchange(m_current, std::move(m_forward.back())));
    m_forward.pop_back();
}

void ZoomStack::clear()
{
    *this = {};
}

} // namespace vergence
