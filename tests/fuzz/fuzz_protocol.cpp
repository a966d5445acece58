// Any bytes on the socket: refused with a reason, or a message that the readers take.
#include <cstdlib>

#include "core/run/messages.h"
#include "core/run/protocol.h"

using namespace vergence;

namespace {

void read(const nlohmann::json& message)
{
    const std::string type = message.at("type");
    if (type == "metrics")
        pointsFromJson(message.at("points"));
    else if (type == "controls")
        controlsFromJson(message.at("controls"));
    else if (type == "streams")
        streamsFromJson(message.at("streams"));
    else if (type == "view")
        viewFromJson(message);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    LineSplitter splitter;
    for (const std::string& line : splitter.feed({reinterpret_cast<const char*>(data), size})) {
        for (const Direction direction : {Direction::FromWorker, Direction::ToWorker}) {
            const ParsedMessage parsed = parseMessage(line, direction);
            if (!parsed.isGood())
                continue;
            read(parsed.message);
            if (!parseMessage(serialise(parsed.message), direction).isGood())
                std::abort(); // what we write we must be able to read
        }
    }
    return 0;
}
