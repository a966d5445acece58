#include "app/viewport/view_scene.h"

#include <algorithm>
#include <ranges>

#include "core/base/error.h"

namespace vergence {
namespace {

ViewMode modeOf(StreamKind kind)
{
    switch (kind) {
    case StreamKind::Image:
    case StreamKind::HeatMap:
    case StreamKind::FrameStream:
        return ViewMode::Image;
    case StreamKind::ImageStack:
    case StreamKind::Gallery:
        return ViewMode::StackGrid;
    case StreamKind::Diagram:
    case StreamKind::Scatter: // a drawing of points
        return ViewMode::Diagram;
    case StreamKind::Splats:
        return ViewMode::Splats;
    case StreamKind::Mesh:
        return ViewMode::Mesh;
    }
    return ViewMode::Image;
}

bool isPicture(StreamKind kind)
{
    return modeOf(kind) == ViewMode::Image || modeOf(kind) == ViewMode::StackGrid;
}

bool isComparable(StreamKind kind)
{
    return isPicture(kind) || kind == StreamKind::Splats;
}

bool belongsTo(StreamKind kind, ViewMode mode)
{
    switch (mode) {
    case ViewMode::Image:
        return isPicture(kind);
    case ViewMode::Stack3d:
        return kind == StreamKind::ImageStack;
    case ViewMode::Compare:
        return isComparable(kind);
    default:
        return modeOf(kind) == mode;
    }
}

bool holds(const std::vector<StreamDecl>& streams, const std::string& id)
{
    return std::ranges::any_of(streams, [&](const StreamDecl& s) { return s.id == id; });
}

/// A stack may be shown as an image too, but a picture that is one comes first.
std::string defaultStream(const std::vector<StreamDecl>& choices)
{
    if (choices.empty())
        return {};
    const auto image = std::ranges::find(choices, ViewMode::Image,
                                         [](const StreamDecl& s) { return modeOf(s.kind); });
    return image == choices.end() ? choices.front().id : image->id;
}

} // namespace

void ViewScene::setStreams(const std::vector<StreamDecl>& streams)
{
    m_streams = streams;
    std::erase_if(m_frames, [&](const auto& entry) { return !holds(streams, entry.first); });
    Q_EMIT streamsChanged();
    restoreChoice();
    Q_EMIT visibleStreamsChanged();
}

void ViewScene::setHasMeshes(bool hasMeshes)
{
    if (hasMeshes == m_hasMeshes)
        return;
    m_hasMeshes = hasMeshes;
    Q_EMIT streamsChanged();
    restoreChoice();
}

/// What the user chose as far as it is there, or the default.
void ViewScene::restoreChoice()
{
    ViewSettings next = m_settings;
    if (!m_isChosen) {
        const ViewMode first = m_streams.empty() ? ViewMode::Image : modeOf(m_streams.front().kind);
        const bool opensWithFirst =
            first == ViewMode::Diagram || first == ViewMode::Splats || first == ViewMode::Mesh;
        next.mode = opensWithFirst ? first : ViewMode::Image;
        next.stream.clear();
    } else {
        next.mode = m_chosenMode;
        next.stream = m_chosenStream;
    }
    apply(std::move(next));
}

void ViewScene::setFrame(Frame frame)
{
    const std::string id = frame.info.stream;
    const auto before = this->frame(id);
    const auto shown = makeShownFrame(std::move(frame), ++m_revision);
    m_frames[id] = shown;
    const bool hasNewForm =
        !before || before->layers() != shown->layers() || before->isScalar() != shown->isScalar();
    if (hasNewForm)
        apply(m_settings);
    const auto visible = visibleStreams();
    if (std::ranges::find(visible, id) != visible.end())
        Q_EMIT changed();
}

void ViewScene::setPixels(const std::string& stream, std::uint64_t revision,
                          std::vector<std::byte> pixels)
{
    const auto found = m_frames.find(stream);
    if (found != m_frames.end() && found->second->revision == revision)
        found->second = withPixels(*found->second, std::move(pixels));
}

void ViewScene::closeSources()
{
    for (auto& [stream, shown] : m_frames) {
        if (!shown->frame.shared)
            continue;
        auto closed = std::make_shared<ShownFrame>(*shown);
        closed->frame.shared.reset();
        shown = std::move(closed);
    }
}

std::vector<std::string> ViewScene::streamsWithFrames() const
{
    std::vector<std::string> streams;
    for (const auto& [stream, frame] : m_frames)
        streams.push_back(stream);
    return streams;
}

void ViewScene::clear()
{
    m_frames.clear();
    Q_EMIT changed();
}

void ViewScene::apply(ViewSettings next)
{
    const auto before = visibleStreams();
    repair(next);
    m_settings = std::move(next);
    Q_EMIT settingsChanged();
    Q_EMIT changed();
    if (visibleStreams() != before)
        Q_EMIT visibleStreamsChanged();
}

void ViewScene::repair(ViewSettings& settings) const
{
    const auto allowed = modes();
    if (!allowed.empty() && std::ranges::find(allowed, settings.mode) == allowed.end())
        settings.mode = allowed.front();
    const auto choices = streamsFor(settings.mode);
    if (!holds(choices, settings.stream))
        settings.stream = defaultStream(choices);
    const auto comparables = streamsFor(ViewMode::Compare);
    CompareSettings& compare = settings.compare;
    if (!holds(comparables, compare.a))
        compare.a = comparables.empty() ? std::string() : comparables.front().id;
    const auto partners = comparable(compare.a);
    if (!holds(partners, compare.b)) {
        compare.b.clear();
        for (const StreamDecl& partner : partners)
            if (compare.b.empty() && partner.id != compare.a)
                compare.b = partner.id;
    }
    if (!holds(partners, compare.third))
        compare.third.clear();
    compare.wipe = std::clamp(compare.wipe, 0.0, 1.0);
    const auto shown = frame(settings.stream);
    const int last = shown ? shown->layers() - 1 : settings.layer;
    settings.layer = std::clamp(settings.layer, 0, std::max(0, last));
    settings.opacity = std::clamp(settings.opacity, 0.0, 1.0);
    if (settings.mode == ViewMode::Splats)
        settings.transform = {}; // its camera moves instead
}

std::vector<ViewMode> ViewScene::modes() const
{
    std::vector<ViewMode> result;
    for (const ViewMode mode :
         {ViewMode::Image, ViewMode::Compare, ViewMode::StackGrid, ViewMode::Stack3d,
          ViewMode::Splats, ViewMode::Mesh, ViewMode::Diagram})
        if (!streamsFor(mode).empty() || (mode == ViewMode::Mesh && m_hasMeshes))
            result.push_back(mode);
    return result;
}

std::vector<StreamDecl> ViewScene::streamsFor(ViewMode mode) const
{
    std::vector<StreamDecl> result;
    for (const StreamDecl& stream : m_streams)
        if (belongsTo(stream.kind, mode) &&
            (mode != ViewMode::Compare || comparable(stream.id).size() > 1))
            result.push_back(stream);
    return result;
}

std::vector<StreamDecl> ViewScene::comparable(const std::string& id) const
{
    const StreamDecl* of = stream(id);
    std::vector<StreamDecl> result;
    if (of == nullptr || of->compareGroup.empty())
        return result;
    for (const StreamDecl& candidate : m_streams)
        if (candidate.compareGroup == of->compareGroup && isComparable(candidate.kind))
            result.push_back(candidate);
    return result;
}

std::vector<std::string> ViewScene::visibleStreams() const
{
    std::vector<std::string> result;
    const auto add = [&](const std::string& id) {
        if (!id.empty() && std::ranges::find(result, id) == result.end())
            result.push_back(id);
    };
    if (m_settings.mode == ViewMode::Compare) {
        add(m_settings.compare.a);
        add(m_settings.compare.b);
        if (m_settings.compare.mode == CompareMode::ThreeUp)
            add(m_settings.compare.third);
    } else if (m_settings.mode != ViewMode::Mesh) {
        add(m_settings.stream);
    }
    return result;
}

const StreamDecl* ViewScene::stream(const std::string& id) const
{
    const auto found = std::ranges::find(m_streams, id, &StreamDecl::id);
    return found == m_streams.end() ? nullptr : &*found;
}

std::shared_ptr<const ShownFrame> ViewScene::frame(const std::string& id) const
{
    const auto found = m_frames.find(id);
    return found == m_frames.end() ? nullptr : found->second;
}

bool ViewScene::hasPicture() const
{
    return std::ranges::any_of(visibleStreams(),
                               [this](const std::string& id) { return frame(id) != nullptr; });
}

int ViewScene::layerFor(const std::string& id) const
{
    const auto shown = frame(id);
    return shown ? std::clamp(m_settings.layer, 0, shown->layers() - 1) : 0;
}

std::vector<Pane> ViewScene::panes(QSizeF viewport) const
{
    switch (m_settings.mode) {
    case ViewMode::Image:
    case ViewMode::Splats: {
        const QRectF area(QPointF(), viewport);
        const auto shown = frame(m_settings.stream);
        return {{.area = area,
                 .clip = area,
                 .stream = m_settings.stream,
                 .layer = layerFor(m_settings.stream),
                 .label = shown ? shown->meta.caption : QString()}};
    }
    case ViewMode::Compare:
        return comparePanes(viewport);
    case ViewMode::StackGrid:
        return gridPanes(viewport);
    default:
        return {};
    }
}

std::vector<Pane> ViewScene::comparePanes(QSizeF viewport) const
{
    CompareSettings compare = m_settings.compare;
    if (compare.showsB)
        std::swap(compare.a, compare.b);
    const auto pane = [&](const QRectF& area, const QRectF& clip, const std::string& id) {
        const StreamDecl* declared = stream(id);
        return Pane{.area = area,
                    .clip = clip,
                    .stream = id,
                    .layer = layerFor(id),
                    .label = declared ? QString::fromStdString(declared->title) : QString()};
    };
    const auto difference = [&](const QRectF& area) {
        Pane result = pane(area, area, compare.a);
        result.other = compare.b;
        result.otherLayer = layerFor(compare.b);
        result.operation = compare.isSigned ? Pane::Operation::SignedDifference
                                            : Pane::Operation::AbsoluteDifference;
        result.label = (compare.isSigned ? tr("A − B, ×%1") : tr("|A − B|, ×%1")).arg(compare.gain);
        return result;
    };
    const auto column = [&](int index, int count) {
        const double width = viewport.width() / count;
        return QRectF(index * width + (index ? 2 : 0), 0, width - (index ? 2 : 0),
                      viewport.height());
    };
    const QRectF whole(QPointF(), viewport);
    switch (compare.mode) {
    case CompareMode::Wipe: {
        QRectF left = whole, right = whole;
        left.setRight(whole.width() * compare.wipe);
        right.setLeft(left.right());
        return {pane(whole, left, compare.a), pane(whole, right, compare.b)};
    }
    case CompareMode::Side:
        return {pane(column(0, 2), column(0, 2), compare.a),
                pane(column(1, 2), column(1, 2), compare.b)};
    case CompareMode::Blink:
        return {pane(whole, whole, compare.a)};
    case CompareMode::Difference:
        return {difference(whole)};
    case CompareMode::ThreeUp:
        break;
    }
    const QRectF third = column(2, 3);
    return {pane(column(0, 3), column(0, 3), compare.a),
            pane(column(1, 3), column(1, 3), compare.b),
            compare.third.empty() ? difference(third) : pane(third, third, compare.third)};
}

std::vector<Pane> ViewScene::gridPanes(QSizeF viewport) const
{
    const auto shown = frame(m_settings.stream);
    if (!shown)
        return {};
    const auto cells = gridCells(viewport, shown->layers(), shown->size());
    std::vector<Pane> result;
    for (int layer = 0; layer < shown->layers(); ++layer)
        result.push_back({.area = cells[layer],
                          .clip = cells[layer],
                          .stream = m_settings.stream,
                          .layer = layer,
                          .label = shown->meta.labels[layer],
                          .isSelected = layer == layerFor(m_settings.stream)});
    return result;
}

std::vector<StackPlane> ViewScene::planes() const
{
    const auto shown = frame(m_settings.stream);
    if (!shown || m_settings.mode != ViewMode::Stack3d)
        return {};
    const StackMeta& meta = shown->meta;
    const auto [near, far] = std::ranges::minmax(meta.depth);
    const double span = far > near ? far - near : 1;
    const double widest = std::max(1e-12, std::ranges::max(meta.width));
    const double aspect = shown->size().height() / shown->size().width();
    std::vector<StackPlane> result;
    for (int layer = 0; layer < shown->layers(); ++layer) {
        const double z = far > near ? ((meta.depth[layer] - near) / span - 0.5) : 0;
        const double half = 0.5 * meta.width[layer] / widest;
        result.push_back({layer, QVector3D(0, 0, static_cast<float>(z * m_settings.depthStretch)),
                          QSizeF(half, half * aspect)});
    }
    const QMatrix4x4 worldToView = m_settings.camera.worldToView();
    // View z grows towards the viewer, so the smallest is the farthest.
    std::ranges::stable_sort(
        result, {}, [&](const StackPlane& plane) { return worldToView.map(plane.centre).z(); });
    return result;
}

std::optional<Pane> ViewScene::paneAt(QPointF point, QSizeF viewport) const
{
    for (const Pane& pane : panes(viewport))
        if (pane.clip.contains(point))
            return pane;
    return std::nullopt;
}

} // namespace vergence
