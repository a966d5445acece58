#include "core/run/request_box.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/protocol.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRequest = ".request";
constexpr const char* kAnswer = ".answer";

fs::path boxOf(const RunFolder& folder)
{
    return folder.root / "requests";
}

/// Files of a box that end in `extension`, by name.
std::vector<fs::path> filesIn(const fs::path& box, const char* extension)
{
    std::vector<fs::path> files;
    std::error_code code;
    for (fs::directory_iterator entry(box, code), end; !code && entry != end;
         entry.increment(code)) {
        if (entry->path().extension() == extension)
            files.push_back(entry->path());
    }
    std::ranges::sort(files);
    return files;
}

/// The message in a file, which is removed.
ParsedMessage takeMessage(const fs::path& file, Direction direction)
{
    ParsedMessage parsed;
    try {
        parsed = parseMessage(readFile(file), direction);
    } catch (const InputError& error) {
        parsed.refusal = error.what();
    }
    std::error_code ignored;
    fs::remove(file, ignored);
    return parsed;
}

} // namespace

void postRequest(const RunFolder& folder, const std::string& sender, const nlohmann::json& request)
{
    std::error_code code;
    fs::create_directories(boxOf(folder), code);
    if (code)
        throw OutputError(fmt::format("The run {} cannot be told: {} cannot be made ({}).",
                                      folder.id(), boxOf(folder).string(), code.message()));
    // Names in the order of time; where clocks differ, in that of each sender.
    const std::string name = fmt::format("{:015.3f}-{}-{:06}{}", epochSeconds(), sender,
                                         request.at("id").get<std::uint64_t>(), kRequest);
    writeFileAtomic(boxOf(folder) / name, serialise(request));
}

std::vector<nlohmann::json> takeAnswers(const RunFolder& folder, const std::string& sender)
{
    std::vector<nlohmann::json> answers;
    for (const fs::path& file : filesIn(boxOf(folder), kAnswer)) {
        if (file.filename().string().find(sender) == std::string::npos)
            continue;
        ParsedMessage parsed = takeMessage(file, Direction::FromWorker);
        if (parsed.isGood())
            answers.push_back(std::move(parsed.message));
    }
    return answers;
}

RequestBox::RequestBox(const RunFolder& folder) : m_folder(boxOf(folder))
{
    std::error_code ignored;
    fs::remove_all(m_folder, ignored);
}

std::vector<RequestBox::Request> RequestBox::take()
{
    std::vector<Request> requests;
    for (const fs::path& file : filesIn(m_folder, kRequest)) {
        ParsedMessage parsed = takeMessage(file, Direction::ToWorker);
        if (parsed.isGood())
            requests.push_back({file.stem().string(), std::move(parsed.message)});
        else
            log("run").warn("A request was refused: {}", parsed.refusal);
    }
    return requests;
}

void RequestBox::answer(const Request& request, nlohmann::json ack)
{
    ack["type"] = "ack";
    ack["id"] = request.message.at("id");
    ack["request"] = request.message.at("type");
    try {
        writeFileAtomic(m_folder / (request.name + kAnswer), serialise(ack));
    } catch (const OutputError& error) {
        log("run").warn("A request could not be answered: {}", error.what());
    }
}

} // namespace vergence
