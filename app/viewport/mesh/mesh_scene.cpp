#include "app/viewport/mesh/mesh_scene.h"

#include <algorithm>
#include <cmath>

namespace vergence {
namespace {

constexpr double kLeastZoom = 0.2, kMostZoom = 400;
constexpr double kUvShare = 0.92; ///< of the view that the whole texture takes

/// Whether a camera made for one mesh sees the other as well.
bool liesAlike(const PreparedMesh& a, const PreparedMesh& b)
{
    const float ratio = b.radius() / a.radius();
    return ratio > 0.5F && ratio < 2 && (a.centre() - b.centre()).length() < 0.5F * a.radius();
}

/// The best that the mesh has the data for.
MeshShading firstShading(const PreparedMesh& mesh)
{
    return mesh.hasTexture() ? MeshShading::Texture
           : mesh.hasColours ? MeshShading::VertexColour
                             : MeshShading::Smooth;
}

} // namespace

QSizeF uvHalfSize(const UvWindow& window, QSizeF viewport)
{
    const double side = std::max(1.0, std::min(viewport.width(), viewport.height()));
    const double scale = kUvShare * window.zoom * side; // pixels per unit
    return viewport / (2 * scale);
}

MeshScene::MeshScene(QObject* parent) : QObject(parent)
{
    connect(&m_loader, &MeshLoader::progressed, this, &MeshScene::say);
    connect(&m_loader, &MeshLoader::loaded, this, &MeshScene::setMesh);
    connect(&m_loader, &MeshLoader::failed, this, [this](const QString& sentence) {
        m_mesh.reset();
        say(sentence);
        Q_EMIT problemFound(sentence);
        Q_EMIT meshChanged(false);
        Q_EMIT changed();
    });
}

void MeshScene::setChoices(std::vector<MeshChoice> choices)
{
    if (choices == m_choices)
        return;
    m_choices = std::move(choices);
    const bool isThere =
        std::ranges::find(m_choices, m_chosen, &MeshChoice::path) != m_choices.end();
    if (!isThere)
        m_chosen = m_choices.empty() ? std::filesystem::path() : m_choices.front().path;
    Q_EMIT choicesChanged();
    loadSoon();
}

void MeshScene::choose(const std::filesystem::path& path)
{
    m_chosen = path;
    Q_EMIT choicesChanged();
    loadSoon();
}

void MeshScene::setActive(bool active)
{
    m_isActive = active;
    loadSoon();
}

void MeshScene::loadSoon()
{
    const auto found = std::ranges::find(m_choices, m_chosen, &MeshChoice::path);
    if (!m_isActive || found == m_choices.end())
        return;
    const QString wanted = QString::fromStdString(m_chosen.string()) + '\n' + found->version;
    if (wanted == m_wanted)
        return;
    m_wanted = wanted;
    m_loader.load(m_chosen);
}

void MeshScene::setMesh(std::shared_ptr<const PreparedMesh> mesh)
{
    const bool keepsPlace = m_mesh && liesAlike(*m_mesh, *mesh);
    m_mesh = std::move(mesh);
    m_measured.clear();
    if (!m_hasShadingChosen || !isUsable(m_settings.shading))
        m_settings.shading = firstShading(*m_mesh);
    say({});
    for (const QString& problem : m_mesh->problems)
        Q_EMIT problemFound(problem);
    Q_EMIT meshChanged(keepsPlace);
    Q_EMIT settingsChanged();
    Q_EMIT changed();
}

void MeshScene::say(const QString& message)
{
    if (message == m_message)
        return;
    m_message = message;
    Q_EMIT messageChanged();
}

bool MeshScene::isUsable(MeshShading shading) const
{
    if (!m_mesh)
        return true;
    switch (shading) {
    case MeshShading::Texture:
        return m_mesh->hasTexture();
    case MeshShading::VertexColour:
        return m_mesh->hasColours;
    case MeshShading::Checker:
    case MeshShading::UvLayout:
        return m_mesh->hasUv;
    default:
        return true;
    }
}

void MeshScene::apply(const MeshSettings& next)
{
    if (next.shading != m_settings.shading) {
        if (!isUsable(next.shading))
            return;
        m_hasShadingChosen = true;
    }
    const bool leavesMeasuring = m_settings.measures && !next.measures;
    m_settings = next;
    m_settings.sectionOffset = std::clamp(next.sectionOffset, 0.0, 1.0);
    if (leavesMeasuring)
        m_measured.clear();
    Q_EMIT settingsChanged();
    Q_EMIT changed();
}

QVector3D MeshScene::up() const
{
    const int axis = m_settings.upAxis;
    if (axis == 0)
        return m_mesh ? m_mesh->up : QVector3D(0, 1, 0);
    QVector3D direction;
    direction[std::abs(axis) - 1] = axis > 0 ? 1.0F : -1.0F;
    return direction;
}

std::optional<MeshSection> MeshScene::section() const
{
    const int axis = m_settings.sectionAxis;
    if (axis < 0 || !m_mesh)
        return std::nullopt;
    const float sign = m_settings.isSectionFlipped ? -1.0F : 1.0F;
    const auto kept = static_cast<float>(m_settings.sectionOffset);
    const float low = m_mesh->lowest[axis], high = m_mesh->highest[axis];
    // A little further at the ends, so that whole faces there are kept or cut.
    const float slack = 1e-4F * m_mesh->radius();
    const float from = sign > 0 ? low - slack : -high - slack;
    const float to = sign > 0 ? high + slack : -low + slack;
    MeshSection section;
    section.normal[axis] = sign;
    section.offset = from + kept * (to - from);
    return section;
}

void MeshScene::setCamera(const MeshCamera& camera)
{
    m_camera = camera;
    Q_EMIT changed();
}

void MeshScene::setUvWindow(const UvWindow& window)
{
    m_uv = window;
    m_uv.zoom = std::clamp(window.zoom, kLeastZoom, kMostZoom);
    Q_EMIT changed();
}

std::optional<QVector3D> MeshScene::pick(QPointF point, QSizeF viewport) const
{
    if (!m_mesh || m_settings.shading == MeshShading::UvLayout)
        return std::nullopt;
    return firstHit(*m_mesh, m_camera.eye(), m_camera.rayAt(point, viewport), section());
}

void MeshScene::addMeasuredPoint(const QVector3D& point)
{
    if (m_measured.size() >= 2)
        m_measured.clear();
    m_measured.push_back(point);
    Q_EMIT changed();
}

void MeshScene::clearMeasured()
{
    m_measured.clear();
    Q_EMIT changed();
}

} // namespace vergence
