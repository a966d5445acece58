#include "plugins/live_diffusion/session/plan_shelf.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/log.h"

namespace vergence::live {

namespace {

constexpr std::size_t kMostPlans = 4;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

PlanShelf::Key keyOf(const Networks& networks, const Switches& switches, int rows)
{
    PlanShelf::Key key{modelKey(networks.config()), switches, rows, {}};
    key.switches.threads = 0;
    if (networks.config().network == NetworkKind::Oracle) {
        const LoopSettings loop = networks.loop();
        key.oracle = fmt::format("{} {} {}", static_cast<int>(loop.curve), loop.zeroTerminalSnr,
                                 static_cast<int>(loop.prediction));
    }
    return key;
}

} // namespace

std::shared_ptr<FrameNetwork> PlanShelf::network(Networks& networks, const Switches& switches,
                                                 int rows)
{
    Plan plan{keyOf(networks, switches, rows), {}, {}};
    {
        const std::scoped_lock lock(m_mutex);
        const auto found = std::ranges::find(m_idle, plan.key, &Plan::key);
        if (found != m_idle.end()) {
            plan = std::move(*found);
            m_idle.erase(found);
        }
    }
    if (plan.network != nullptr) {
        networks.setModel(plan.model);
        plan.network->resetMemory();
    } else {
        if (const auto known = model(plan.key.model))
            networks.setModel(known);
        else if (!networks.hasNamedModel())
            networks.load([](const std::string&, const std::string& sentence) {
                log("live_diffusion").warn("{}", sentence);
            });
        plan.model = networks.model();
        if (m_choices == nullptr)
            m_choices = keptChoices();
        plan.network = networks.build(switches, rows, m_choices);
        m_choices->stopKeeping();
        const std::scoped_lock lock(m_mutex);
        std::erase_if(m_models, [](const auto& one) { return one.expired(); });
        m_models.push_back(plan.model);
    }
    FrameNetwork* const lent = plan.network.get();
    return {lent, [shelf = weak_from_this(), plan = std::move(plan)](FrameNetwork*) {
                if (const auto held = shelf.lock())
                    held->putAside(plan);
            }};
}

std::shared_ptr<const LoadedModel> PlanShelf::model(const ModelKey& key) const
{
    const std::scoped_lock lock(m_mutex);
    for (const auto& one : m_models)
        if (auto model = one.lock(); model != nullptr && model->key == key)
            return model;
    return nullptr;
}

void PlanShelf::putAside(Plan plan)
{
    Switches switches = plan.network->switches();
    switches.threads = 0;
    if (switches != plan.key.switches)
        return;              // it has fallen back to another precision
    std::list<Plan> dropped; // freed without the lock
    const std::scoped_lock lock(m_mutex);
    m_idle.push_front(std::move(plan));
    std::size_t bytes = 0, count = 0;
    auto last = m_idle.begin();
    while (last != m_idle.end() && ++count <= kMostPlans &&
           (bytes += last->network->cost().steadyBytes()) <= kMostBytes)
        ++last;
    dropped.splice(dropped.end(), m_idle, last, m_idle.end());
}

} // namespace vergence::live
