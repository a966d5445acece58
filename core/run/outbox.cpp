#include "core/run/outbox.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/run/protocol.h"

namespace vergence {

namespace {

constexpr double kTableInterval = 0.5; // s
constexpr std::size_t kMostPendingLogLines =
    50'000; // when nothing can be written for long, memory stays bounded
/// Types of which a late client hears the newest.
constexpr std::array kRemembered{"phase",   "controls",   "closed",  "live",
                                 "streams", "checkpoint", "problem", "done"};

} // namespace

void Outbox::remember(const Json& message)
{
    const auto& type = message.at("type").get_ref<const std::string&>();
    if (type == "artifact")
        m_artifacts[message.at("path").get<std::string>()] = message;
    else if (type == "state" && message.at("state") == "Running")
        m_last.erase("problem"); // a resumed run has overcome it
    else if (std::ranges::find(kRemembered, type) != kRemembered.end())
        m_last[type] = message;
}

void Outbox::keep(Json event)
{
    event["time"] = utcNow();
    m_batch.events.push_back(serialise(event));
}

void Outbox::send(Json message)
{
    const std::lock_guard lock(m_mutex);
    remember(message);
    m_batch.messages.push_back(std::move(message));
}

void Outbox::tell(Json message)
{
    const std::lock_guard lock(m_mutex);
    remember(message);
    keep(message);
    m_batch.messages.push_back(std::move(message));
}

void Outbox::note(Json event)
{
    const std::lock_guard lock(m_mutex);
    keep(std::move(event));
}

void Outbox::logged(const LogLine& line)
{
    Json entry{
        {"time", line.time}, {"level", line.level}, {"area", line.area}, {"text", line.text}};
    const std::lock_guard lock(m_mutex);
    if (m_batch.logs.size() >= kMostPendingLogLines) {
        ++m_lostLogLines;
        return;
    }
    if (m_lostLogLines > 0)
        entry["lost_before"] = std::exchange(m_lostLogLines, 0);
    m_batch.logs.push_back(serialise(entry));
    entry["type"] = "log";
    entry["index"] = m_logIndex++;
    m_batch.messages.push_back(std::move(entry));
}

void Outbox::startLogAt(std::int64_t index)
{
    const std::lock_guard lock(m_mutex);
    m_logIndex = index;
}

void Outbox::setTable(const Json& table)
{
    const std::string id = table.value("id", "table");
    const std::lock_guard lock(m_mutex);
    const auto [found, isNew] = m_tables.try_emplace(id);
    if (isNew)
        m_tableOrder.push_back(id);
    found->second.content = table;
    found->second.isDirty = true;
}

void Outbox::setControls(Json controls)
{
    send({{"type", "controls"}, {"controls", std::move(controls)}});
}

void Outbox::setStreams(Json streams)
{
    send({{"type", "streams"}, {"streams", std::move(streams)}});
}

std::vector<Outbox::Json> Outbox::frameMessages(const std::vector<FrameNotice>& notices)
{
    const std::lock_guard lock(m_mutex);
    std::vector<Json> messages;
    for (const FrameNotice& notice : notices) {
        Json message = {{"type", "frame"},
                        {"stream", notice.stream},
                        {"ring", notice.ring},
                        {"sequence", notice.sequence}};
        m_frames[notice.stream] = message;
        messages.push_back(std::move(message));
    }
    return messages;
}

Outbox::Batch Outbox::take(bool everything)
{
    const double now = steadySeconds();
    const std::lock_guard lock(m_mutex);
    for (const std::string& id : m_tableOrder) {
        Table& table = m_tables[id];
        if (!table.isDirty || (!everything && now - table.sentAt < kTableInterval))
            continue;
        table.isDirty = false;
        table.sentAt = now;
        m_batch.messages.push_back({{"type", "table"}, {"table", table.content}});
    }
    return std::exchange(m_batch, {});
}

std::vector<Outbox::Json> Outbox::late() const
{
    std::vector<Json> messages;
    const std::lock_guard lock(m_mutex);
    for (const char* type : kRemembered) {
        if (const auto found = m_last.find(type); found != m_last.end() && found->first != "done")
            messages.push_back(found->second);
    }
    for (const std::string& id : m_tableOrder)
        messages.push_back({{"type", "table"}, {"table", m_tables.at(id).content}});
    for (const auto& [path, message] : m_artifacts)
        messages.push_back(message);
    for (const auto& [stream, message] : m_frames)
        messages.push_back(message);
    if (const auto done = m_last.find("done"); done != m_last.end())
        messages.push_back(done->second);
    return messages;
}

std::vector<Outbox::Json> Outbox::tables() const
{
    std::vector<Json> list;
    const std::lock_guard lock(m_mutex);
    for (const std::string& id : m_tableOrder)
        list.push_back(m_tables.at(id).content);
    return list;
}

Outbox::Json Outbox::controls() const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_last.find("controls");
    return found != m_last.end() ? found->second.at("controls") : Json::array();
}

Outbox::Json Outbox::streams() const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_last.find("streams");
    return found != m_last.end() ? found->second.at("streams") : Json::array();
}

} // namespace vergence
