#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "core/view/frame_publisher.h"

namespace vergence {

/// Where the run thread and loggers leave what clients must hear and what events.jsonl and
/// log.jsonl must keep; the main thread takes it in batches. Thread-safe; the lock is held for
/// moving memory only.
class Outbox {
public:
    using Json = nlohmann::json;

    /// To clients, in order.
    void send(Json message);
    /// To clients and, with the time of day, to events.jsonl.
    void tell(Json message);
    /// To events.jsonl alone.
    void note(Json event);
    void logged(const LogLine& line);
    /// Number of the first log line; those before it are in log.jsonl already.
    void startLogAt(std::int64_t index);

    /// Replaced as a whole; sent at most twice a second per table.
    void setTable(const Json& table);
    void setControls(Json controls);
    void setStreams(Json streams);
    /// Messages for the newest frame of each stream; remembered for clients that come late.
    std::vector<Json> frameMessages(const std::vector<FrameNotice>& notices);

    struct Batch {
        std::vector<Json> messages;
        std::vector<std::string> events, logs; ///< lines with their ends
    };
    /// `everything`: also tables that were sent a moment ago.
    Batch take(bool everything);
    /// What a late client has missed: phase, controls, closed choices, live settings, streams,
    /// tables, artifacts, last checkpoint, frames, problem, done.
    std::vector<Json> late() const;
    std::vector<Json> tables() const;
    Json controls() const;
    Json streams() const;

private:
    struct Table {
        Json content;
        bool isDirty = true;
        double sentAt = 0;
    };
    void remember(const Json& message);
    void keep(Json event);

    mutable std::mutex m_mutex;
    Batch m_batch;
    std::int64_t m_logIndex = 0, m_lostLogLines = 0;
    std::map<std::string, Table> m_tables;
    std::vector<std::string> m_tableOrder;
    std::map<std::string, Json> m_last; ///< newest message by type, for late clients
    std::map<std::string, Json> m_artifacts, m_frames;
};

} // namespace vergence
