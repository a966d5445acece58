#include "core/run/controller_context.h"

#include "core/compute/device.h"
#include "core/run/messages.h"

namespace vergence {

RunContext::~RunContext() = default;

ControllerContext::ControllerContext(Services services, Config config, double previewInterval)
    : m_services(std::move(services)),
      m_config(std::move(config)),
      m_pacer(previewInterval)
{
}

Stream& ControllerContext::stream()
{
    if (!m_stream)
        m_stream = m_services.device->createStream();
    return *m_stream;
}

Rng ControllerContext::rng(std::uint64_t stream) const
{
    const Field* seed = m_config.schema().find("seed");
    const bool hasSeed =
        seed != nullptr && (seed->type == FieldType::Seed || seed->type == FieldType::Int);
    return Rng(hasSeed ? static_cast<std::uint64_t>(m_config.get<std::int64_t>("seed")) : 0,
               stream);
}

bool ControllerContext::stopRequested() const
{
    return m_services.control.stopRequested();
}

bool ControllerContext::framesDue() const
{
    return m_pacer.framesDue();
}

void ControllerContext::recordAt(const std::string& name, double value, std::int64_t x)
{
    if (!m_services.keepsNothing)
        m_services.metrics.record(name, value, x);
}

void ControllerContext::phase(int number, int count, const std::string& name)
{
    {
        const std::lock_guard lock(m_phaseMutex);
        m_phase = name;
    }
    m_services.outbox.tell(
        {{"type", "phase"}, {"number", number}, {"count", count}, {"name", name}});
}

void ControllerContext::endPreparation()
{
    const std::lock_guard lock(m_phaseMutex);
    m_phase.clear();
}

std::string ControllerContext::currentPhase() const
{
    const std::lock_guard lock(m_phaseMutex);
    return m_phase;
}

void ControllerContext::table(const nlohmann::json& table)
{
    expects(table.is_object() && table.contains("id") && table.at("id").is_string(),
            "table: needs a text `id`");
    m_services.outbox.setTable(table);
}

void ControllerContext::declareControls(const std::vector<ViewControl>& controls)
{
    m_services.outbox.setControls(controlsToJson(controls));
}

void ControllerContext::closeChoices(const std::vector<ClosedChoice>& choices)
{
    m_services.outbox.send({{"type", "closed"}, {"choices", choicesToJson(choices)}});
}

void ControllerContext::declareStreams(const std::vector<StreamDecl>& streams)
{
    std::vector<StreamDecl> all = m_services.streams;
    all.insert(all.end(), streams.begin(), streams.end());
    m_services.outbox.setStreams(streamsToJson(all));
}

void ControllerContext::warn(const std::string& id, const std::string& sentence)
{
    log("run").warn("{}: {}", id, sentence);
    m_services.outbox.tell({{"type", "problem"}, {"id", id}, {"sentence", sentence}});
}

void ControllerContext::note(const std::string& key, const nlohmann::json& value)
{
    m_notes[key] = value;
}

} // namespace vergence
