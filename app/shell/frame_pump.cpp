#include "app/shell/frame_pump.h"

#include <algorithm>
#include <utility>

#include <QComboBox>

#include <nlohmann/json.hpp>

#include "app/viewport/view_panel.h"
#include "app/viewport/view_scene.h"
#include "core/run/run_client.h"

namespace vergence {

namespace {

constexpr int kFrameMs = 16;
const std::string kStartPrefix = "start:";

bool isPicture(StreamKind kind)
{
    return kind == StreamKind::Image || kind == StreamKind::ImageStack ||
           kind == StreamKind::HeatMap || kind == StreamKind::FrameStream;
}

/// Gives every picture with a first frame a partner stream of that frame, in the same compare
/// group.
void addStarts(std::vector<StreamDecl>& streams,
               const std::map<std::string, std::map<std::string, Frame>>& first)
{
    std::vector<StreamDecl> partners;
    for (StreamDecl& stream : streams) {
        if (!first.contains(stream.id))
            continue;
        if (stream.compareGroup.empty())
            stream.compareGroup = kStartPrefix + stream.id;
        StreamDecl partner = stream;
        partner.id = kStartPrefix + stream.id;
        partner.title = FramePump::tr("%1 at the start")
                            .arg(QString::fromStdString(stream.title))
                            .toStdString();
        partners.push_back(partner);
    }
    streams.insert(streams.end(), partners.begin(), partners.end());
}

/// What a picture is of, where a run shows one thing after the other.
std::string subjectOf(const FrameInfo& info)
{
    if (info.meta.find("\"subject\"") == std::string::npos)
        return {};
    const auto meta = nlohmann::json::parse(info.meta, nullptr, false);
    const auto found = meta.is_object() ? meta.find("subject") : meta.end();
    return found != meta.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void choose(QWidget& panel, const QString& combo, const QVariant& data)
{
    auto* box = panel.findChild<QComboBox*>(combo);
    const int index = box == nullptr ? -1 : box->findData(data);
    if (index < 0)
        return;
    box->setCurrentIndex(index);
    Q_EMIT box->activated(index);
}

} // namespace

FramePump::FramePump(RunClient& client, ViewPanel& panel, QObject* parent)
    : QObject(parent),
      m_client(client),
      m_panel(panel)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(kFrameMs);
    connect(&m_timer, &QTimer::timeout, this, &FramePump::fetch);
    connect(&client, &RunClient::frameArrived, this, [this](const QString& stream) {
        m_dirty.insert(stream);
        if (m_isVisible && !m_timer.isActive())
            m_timer.start();
    });
    m_declaring.setSingleShot(true);
    connect(&m_declaring, &QTimer::timeout, this, &FramePump::declare);
    connect(&client, &RunClient::viewDeclared, this, &FramePump::declareSoon);
    connect(&panel, &ViewPanel::viewInputChanged, &client, &RunClient::setView);
    connect(&panel, &ViewPanel::visibleStreamsChanged, &m_timer, qOverload<>(&QTimer::start));
    connect(&panel, &ViewPanel::visibleStreamsChanged, this, &FramePump::tellVisible);
    connect(&panel, &ViewPanel::sharedDeviceChanged, this, &FramePump::tellWatched);
    connect(&client, &RunClient::connectionLost, &panel, &ViewPanel::closeSources);
    connect(&client, &RunClient::framesRestarted, this,
            [this](const QString& stream) { m_seen.erase(stream.toStdString()); });
    declareSoon();
}

void FramePump::setPluginStreams(std::vector<StreamDecl> streams)
{
    m_pluginStreams = std::move(streams);
    declareSoon();
}

void FramePump::declareSoon()
{
    if (!m_declaring.isActive())
        m_declaring.start(0);
}

void FramePump::showRecorded(std::vector<RecordedPicture> pictures)
{
    if (pictures.empty() && m_recorded.empty())
        return;
    m_recorded = std::move(pictures);
    m_seen.clear();
    declareSoon();
}

std::vector<StreamDecl> FramePump::allStreams() const
{
    if (!m_recorded.empty()) {
        std::vector<StreamDecl> streams;
        for (const RecordedPicture& picture : m_recorded)
            streams.push_back(picture.stream);
        return streams;
    }
    std::vector<StreamDecl> streams = m_client.streams();
    for (const StreamDecl& stream : m_pluginStreams) {
        const bool isDeclared =
            std::any_of(streams.begin(), streams.end(),
                        [&stream](const StreamDecl& other) { return other.id == stream.id; });
        if (!isDeclared)
            streams.push_back(stream);
    }
    return streams;
}

void FramePump::declare()
{
    offerStreams();
    m_panel.setControls(m_recorded.empty() ? m_client.controls() : std::vector<ViewControl>());
}

void FramePump::offerStreams()
{
    std::vector<StreamDecl> streams = allStreams();
    if (m_comparesStart)
        addStarts(streams, m_first);
    m_panel.setStreams(streams);
}

/// Streams that nobody sees need not be rendered by the run.
void FramePump::tellVisible()
{
    std::string list;
    for (const std::string& stream : m_panel.visibleStreams())
        list += (list.empty() ? "" : ",") + stream;
    ViewInput input;
    input.texts["visible"] = list;
    m_client.setView(input);
}

/// The run leaves pictures on the GPU only for views that can open them there.
void FramePump::tellWatched()
{
    m_client.setWatched(m_isVisible, m_panel.sharedDevice());
}

void FramePump::setVisible(bool visible)
{
    m_isVisible = visible;
    m_isFresh = false;
    tellWatched();
    if (visible)
        tellVisible();
    if (visible)
        m_timer.start();
    else
        m_timer.stop();
}

/// A slot in device memory is soon written again, so its pixels are fetched.
void FramePump::keepFirst(const std::string& id, const std::string& subject)
{
    const auto known = m_first.find(id);
    if ((known != m_first.end() && known->second.contains(subject)) || !m_recorded.empty())
        return;
    for (const StreamDecl& stream : allStreams()) {
        if (stream.id != id || !isPicture(stream.kind))
            continue;
        if (auto frame = m_panel.frameWithPixels(id); frame && subjectOf(frame->info) == subject)
            m_first[id].emplace(subject, std::move(*frame));
    }
}

bool FramePump::hasPictures() const
{
    const std::vector<StreamDecl> streams = allStreams();
    return std::any_of(streams.begin(), streams.end(),
                       [](const StreamDecl& stream) { return isPicture(stream.kind); });
}

std::optional<std::int64_t> FramePump::shownStep() const
{
    const auto newest =
        std::ranges::max_element(m_steps, {}, [](const auto& shown) { return shown.second; });
    return newest == m_steps.end() ? std::nullopt : std::optional(newest->second);
}

/// The start of what the stream shows now, beside it.
void FramePump::showStart(const std::string& id)
{
    const auto first = m_first[id].find(m_subjects[id]);
    if (first == m_first[id].end())
        return;
    Frame copy = first->second;
    copy.info.stream = kStartPrefix + id;
    m_panel.setFrame(std::move(copy));
}

bool FramePump::compareWithStart()
{
    if (m_first.empty())
        return false;
    std::string stream = m_first.begin()->first;
    for (const std::string& visible : m_panel.visibleStreams())
        if (m_first.contains(visible))
            stream = visible;
    m_comparesStart = true;
    offerStreams(); // and not the controls: they stand where the picture was made
    for (const auto& [id, first] : m_first)
        showStart(id);
    choose(m_panel, "viewModeCombo", static_cast<int>(ViewMode::Compare));
    choose(m_panel, "compareA", QString::fromStdString(kStartPrefix + stream));
    choose(m_panel, "compareB", QString::fromStdString(stream));
    return true;
}

std::optional<Frame> FramePump::newest(const std::string& stream, std::uint64_t seen)
{
    if (m_recorded.empty())
        return m_client.frame(stream, seen);
    const auto found =
        std::ranges::find(m_recorded, stream, [](const auto& p) { return p.stream.id; });
    return found == m_recorded.end() || seen != 0 ? std::nullopt : frameOf(*found);
}

void FramePump::fetch()
{
    for (const std::string& stream : m_panel.visibleStreams()) {
        const QString name = QString::fromStdString(stream);
        std::uint64_t& seen = m_seen[stream];
        if (seen != 0 && !m_dirty.contains(name))
            continue;
        std::optional<Frame> frame = newest(stream, seen);
        m_dirty.remove(name);
        if (!frame)
            continue;
        seen = frame->info.sequence;
        const std::string subject = subjectOf(frame->info);
        const bool isOther = std::exchange(m_subjects[stream], subject) != subject;
        if (m_recorded.empty())
            m_steps[stream] = frame->info.step;
        m_isFresh = true;
        m_panel.setFrame(std::move(*frame));
        keepFirst(stream, subject);
        if (m_comparesStart && isOther && m_first.contains(stream))
            showStart(stream);
        ++m_framesShown;
        Q_EMIT frameShown();
    }
}

} // namespace vergence
