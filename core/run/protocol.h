#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence {

/// Messages are JSON objects, one per line, with a member "type". Worker → client: hello, state,
/// phase, progress, metrics, table, histogram, artifact, checkpoint, frame, controls, closed,
/// live, streams, log, problem, heartbeat, done, ack. Client → worker: pause, resume, stop,
/// kill_after, checkpoint, set, view, watch, ping; each with an "id" that is acknowledged. Members
/// and types of each are in one table (protocol.cpp), which both directions validate.
inline constexpr std::size_t kLongestMessage = 4u << 20;

enum class Direction { FromWorker, ToWorker };

/// The parsed message, or why it is refused ("metrics: member `points` must be an array").
struct ParsedMessage {
    nlohmann::json message;
    std::string refusal;
    bool isGood() const { return refusal.empty(); }
};
/// Never throws, whatever the bytes.
ParsedMessage parseMessage(std::string_view line, Direction direction);
/// One line with its newline. Invalid UTF-8 is replaced.
std::string serialise(const nlohmann::json& message);

/// Cuts a byte stream into lines; a line over kLongestMessage is dropped with `overflowed` set.
class LineSplitter {
public:
    std::vector<std::string> feed(std::string_view bytes);
    bool overflowed() const { return m_overflowed; }

private:
    std::string m_rest;
    bool m_dropping = false, m_overflowed = false;
};

} // namespace vergence
