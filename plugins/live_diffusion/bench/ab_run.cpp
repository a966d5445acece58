#include "plugins/live_diffusion/bench/ab_run.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::live {

std::string_view nameOf(AbVerdict verdict)
{
    switch (verdict) {
    case AbVerdict::NotJudged:
        return "";
    case AbVerdict::Faster:
        return "faster";
    case AbVerdict::Same:
        return "same";
    case AbVerdict::Slower:
        return "slower";
    }
    return "?";
}

AbVerdict verdictOf(const Interval& entry, const Interval& reference)
{
    if (std::isnan(entry.value) || std::isnan(reference.value))
        return AbVerdict::NotJudged;
    if (entry.high < reference.low)
        return AbVerdict::Faster;
    return entry.low > reference.high ? AbVerdict::Slower : AbVerdict::Same;
}

AbRun::AbRun(AbTarget& target, std::vector<AbStep> plan) : m_target(target), m_plan(std::move(plan))
{
    expects(!m_plan.empty() && m_plan.front().part == AbPart::Baseline,
            "AbRun: the plan begins with the baseline");
}

bool AbRun::next()
{
    if (m_entries.size() == m_plan.size())
        return false;
    AbEntry entry{m_plan[m_entries.size()]};
    if (entry.step.unavailable.empty()) {
        try {
            entry.measurement = measured(entry.step);
        } catch (const Error& error) { // one row without memory does not end the others
            if (entry.step.part == AbPart::Baseline)
                throw;
            entry.failure = error.what();
        }
    }
    if (entry.measurement)
        judge(entry);
    m_entries.push_back(std::move(entry));
    return m_entries.size() < m_plan.size();
}

/// The same setting is measured once: the last cumulative row and the one without its technique
/// differ in name alone.
AbMeasurement AbRun::measured(const AbStep& step)
{
    for (const AbEntry& earlier : m_entries) {
        if (earlier.measurement && earlier.step.setting == step.setting)
            return *earlier.measurement;
    }
    return m_target.measure(step.setting);
}

/// What the rows of a part are compared with.
const AbEntry* AbRun::reference(AbPart part) const
{
    if (part == AbPart::Baseline)
        return nullptr;
    const AbEntry* found = &m_entries.front();
    if (part == AbPart::Alone)
        return found;
    for (const AbEntry& earlier : m_entries) {
        if (earlier.step.part == AbPart::Cumulative && earlier.measurement)
            found = &earlier;
    }
    return found;
}

void AbRun::judge(AbEntry& entry) const
{
    std::vector<double> ms = entry.measurement->result.deviceUs;
    for (double& value : ms)
        value /= 1000;
    entry.milliseconds = medianInterval(ms);
    const AbEntry* other = reference(entry.step.part);
    if (other)
        entry.verdict = verdictOf(entry.milliseconds, other->milliseconds);
    const AbEntry& baseline = other ? m_entries.front() : entry;
    entry.speedUp = baseline.milliseconds.value / entry.milliseconds.value;
    const auto steady = [](const AbEntry& row) {
        return static_cast<double>(row.measurement->result.memory.steady());
    };
    if (steady(baseline) > 0)
        entry.memoryReduction = 1 - steady(entry) / steady(baseline);
}

} // namespace vergence::live
