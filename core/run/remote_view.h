#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/run/run_controller.h"

namespace vergence {

/// Where a worker leaves what viewers on other computers see: `live` of the run folder.
std::filesystem::path remoteViewFolder(const RunFolder& folder);
/// Its messages (protocol.h), those that a late client must hear, one per line.
std::filesystem::path remoteViewMessages(const RunFolder& folder);

/// How long (s) one request to watch holds; viewers repeat it in a third of that.
inline constexpr double kWatchSeconds = 15;

/// A worker's end: the newest frame of each stream and what else a viewer must know, as files,
/// while somebody watches.
class RemoteView {
public:
    /// Removes what an earlier worker has left.
    explicit RemoteView(RunController& controller);
    ~RemoteView(); ///< removes the files
    RemoteView(const RemoteView&) = delete;
    RemoteView& operator=(const RemoteView&) = delete;

    /// A viewer watches from now (steadySeconds()) on, or no longer.
    void setWatched(bool watched, double now);
    bool isWatched(double now) const { return now < m_watchedUntil; }
    /// Writes what is new; removes the files when nobody watches any more. What cannot be written
    /// is logged and left out.
    void publish(double now);

private:
    void publishMessages();
    void publishFrames();
    void clear() noexcept;

    RunController& m_controller;
    std::filesystem::path m_folder;
    double m_watchedUntil = -1;
    bool m_hasFiles = false;
    std::string m_messages;                      ///< as written last
    std::map<std::string, std::uint64_t> m_sent; ///< newest sequence of each stream
};

/// The streams that have a frame there, and the file of each.
std::map<std::string, std::filesystem::path> remoteFrames(const RunFolder& folder);

} // namespace vergence
