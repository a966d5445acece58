#include "app/forms/sci_edit.h"

#include <algorithm>
#include <cmath>

#include "app/forms/number_text.h"

namespace vergence {

SciEdit::SciEdit(Kind kind, const Steps& steps, QWidget* parent)
    : CommitEdit(parent),
      m_kind(kind),
      m_steps(steps)
{
    setInputMethodHints(Qt::ImhFormattedNumbersOnly | Qt::ImhNoPredictiveText);
}

bool SciEdit::step(bool isUp)
{
    const auto parsed = parseFloat(text());
    if (!parsed.value)
        return true; // an arrow key must not move the cursor through a number that is wrong
    const double range =
        m_steps.minimum && m_steps.maximum ? *m_steps.maximum - *m_steps.minimum : 0;
    double next =
        stepped(*parsed.value, isUp, m_steps.isLogarithmic, m_kind == Kind::Int ? 0 : range);
    if (m_kind == Kind::Int) {
        const double whole =
            m_steps.isLogarithmic ? std::round(next) : *parsed.value + (isUp ? 1 : -1);
        next = whole == *parsed.value ? whole + (isUp ? 1 : -1) : whole;
    }
    next =
        std::clamp(next, m_steps.minimum.value_or(-HUGE_VAL), m_steps.maximum.value_or(HUGE_VAL));
    setText(m_kind == Kind::Int ? QString::number(static_cast<qlonglong>(next)) : numberText(next));
    commit();
    return true;
}

} // namespace vergence
