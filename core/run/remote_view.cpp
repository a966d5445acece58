#include "core/run/remote_view.h"

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/frame_file.h"
#include "core/run/protocol.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFrame = ".frame";

/// Stream names may hold anything; as hexadecimal digits they are names of files.
std::string fileName(const std::string& stream)
{
    std::string name;
    for (const unsigned char c : stream)
        name += fmt::format("{:02x}", c);
    return name + kFrame;
}

std::string streamOf(const std::string& stem)
{
    std::string stream;
    for (std::size_t i = 0; i + 1 < stem.size(); i += 2)
        stream += static_cast<char>(std::strtol(stem.substr(i, 2).c_str(), nullptr, 16));
    return stream;
}

/// Numbers and log lines stand in files already; frames have files of their own.
bool isForViewers(const nlohmann::json& message)
{
    const auto& type = message.at("type").get_ref<const std::string&>();
    for (const char* wanted : {"phase", "controls", "closed", "live", "streams", "table"})
        if (type == wanted)
            return true;
    return false;
}

} // namespace

fs::path remoteViewFolder(const RunFolder& folder)
{
    return folder.root / "live";
}

fs::path remoteViewMessages(const RunFolder& folder)
{
    return remoteViewFolder(folder) / "messages.jsonl";
}

std::map<std::string, fs::path> remoteFrames(const RunFolder& folder)
{
    std::map<std::string, fs::path> frames;
    std::error_code code;
    for (fs::directory_iterator entry(remoteViewFolder(folder), code), end; !code && entry != end;
         entry.increment(code)) {
        if (entry->path().extension() == kFrame)
            frames[streamOf(entry->path().stem().string())] = entry->path();
    }
    return frames;
}

RemoteView::RemoteView(RunController& controller)
    : m_controller(controller),
      m_folder(remoteViewFolder(controller.settings().folder))
{
    clear();
}

RemoteView::~RemoteView()
{
    clear();
}

void RemoteView::setWatched(bool watched, double now)
{
    m_watchedUntil = watched ? now + kWatchSeconds : -1;
}

void RemoteView::publish(double now)
{
    if (!isWatched(now)) {
        if (m_hasFiles)
            clear();
        return;
    }
    try {
        m_hasFiles = true;
        fs::create_directories(m_folder);
        publishMessages();
        publishFrames();
    } catch (const std::exception& error) {
        log("run").debug("Viewers on other computers see nothing new: {}", error.what());
    }
}

void RemoteView::publishMessages()
{
    std::string lines;
    for (const nlohmann::json& message : m_controller.snapshot())
        if (isForViewers(message))
            lines += serialise(message);
    if (lines == m_messages)
        return;
    writeFileAtomic(remoteViewMessages(m_controller.settings().folder), lines);
    m_messages = std::move(lines);
}

void RemoteView::publishFrames()
{
    for (const Frame& frame : m_controller.newestFrames(m_sent)) {
        writeFrameFile(m_folder / fileName(frame.info.stream), frame);
        m_sent[frame.info.stream] = frame.info.sequence;
    }
}

void RemoteView::clear() noexcept
{
    std::error_code ignored;
    fs::remove_all(m_folder, ignored);
    m_hasFiles = false;
    m_messages.clear();
    m_sent.clear();
}

} // namespace vergence
