#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QPointF>
#include <QString>

#include "app/viewport/mesh/mesh_camera.h"
#include "app/viewport/mesh/mesh_choice.h"
#include "app/viewport/mesh/mesh_loader.h"
#include "app/viewport/mesh/prepared_mesh.h"

namespace vergence {

enum class MeshShading { Smooth, Flat, Texture, VertexColour, Normals, Matcap, Checker, UvLayout };
inline constexpr int kMeshShadingCount = 8;

/// What the viewer chose.
struct MeshSettings {
    MeshShading shading = MeshShading::Smooth;
    bool hasWireframe = false;
    bool tintsBackFaces = true;
    bool marksEdges = false; ///< boundary and non-manifold
    bool tintsGroups = false;
    bool measures = false; ///< clicks set points
    int sectionAxis = -1;  ///< 0 x, 1 y, 2 z; -1 for none
    bool isSectionFlipped = false;
    double sectionOffset = 0.5; ///< fraction of the bounding box that is kept
    int checkerCells = 32;      ///< along each side of the texture; 0: one per texel
    int upAxis = 0;             ///< 0 as the file says, then 1 +x, -1 -x, 2 +y …
    bool operator==(const MeshSettings&) const = default;
};

/// Part of the texture that the UV layout shows.
struct UvWindow {
    QPointF centre{0.5, 0.5}; ///< in texture coordinates, v downwards
    double zoom = 1;          ///< 1 shows the whole square
    bool operator==(const UvWindow&) const = default;
};

/// Half of what a view of this size sees, in texture coordinates.
QSizeF uvHalfSize(const UvWindow& window, QSizeF viewport);

/// The mesh of a view, what was chosen about it and from where it is seen. Files are read once
/// somebody looks, on another thread. Knows no widget.
class MeshScene : public QObject {
    Q_OBJECT
public:
    explicit MeshScene(QObject* parent = nullptr);

    /// The files there are now, the preferred first. The shown one stays as long as it is there,
    /// and is read again where its version has changed.
    void setChoices(std::vector<MeshChoice> choices);
    const std::vector<MeshChoice>& choices() const { return m_choices; }
    void choose(const std::filesystem::path& path);
    const std::filesystem::path& chosen() const { return m_chosen; }
    /// Whether the mesh is looked at, so that its file is worth reading.
    void setActive(bool active);

    const MeshSettings& settings() const { return m_settings; }
    template <class Edit>
    void edit(Edit&& edit)
    {
        MeshSettings next = m_settings;
        edit(next);
        apply(next);
    }
    /// Shadings that the mesh has the data for.
    bool isUsable(MeshShading shading) const;

    std::shared_ptr<const PreparedMesh> mesh() const { return m_mesh; }
    void setMesh(std::shared_ptr<const PreparedMesh> mesh); ///< one that comes from no file
    bool isLoading() const { return m_loader.isLoading(); }
    /// What goes on, or why there is nothing to see; empty where all is well.
    const QString& message() const { return m_message; }
    QVector3D up() const; ///< unit
    std::optional<MeshSection> section() const;

    const MeshCamera& camera() const { return m_camera; }
    void setCamera(const MeshCamera& camera);
    const UvWindow& uvWindow() const { return m_uv; }
    void setUvWindow(const UvWindow& window);

    /// Share of the mesh that has reached the graphics card, noted by whoever draws.
    void setSentFraction(double fraction) { m_sentFraction = fraction; }
    double sentFraction() const { return m_sentFraction; }

    /// Where the ray through a point of the view meets what is shown of the mesh.
    std::optional<QVector3D> pick(QPointF point, QSizeF viewport) const;
    /// Adds an end of the measured distance; a third point begins a new one.
    void addMeasuredPoint(const QVector3D& point);
    const std::vector<QVector3D>& measured() const { return m_measured; } ///< at most two
    void clearMeasured();

Q_SIGNALS:
    void changed(); ///< draw again
    void settingsChanged();
    void choicesChanged(); ///< or the chosen one
    void messageChanged();
    /// `keepsPlace`: it lies where the one before lay, so the camera can stay.
    void meshChanged(bool keepsPlace);
    void problemFound(const QString& sentence);

private:
    void apply(const MeshSettings& next);
    void loadSoon();
    void say(const QString& message);

    std::vector<MeshChoice> m_choices;
    std::filesystem::path m_chosen;
    QString m_wanted; ///< version of the chosen file that was asked for
    bool m_isActive = false, m_hasShadingChosen = false;
    MeshLoader m_loader;
    MeshSettings m_settings;
    std::shared_ptr<const PreparedMesh> m_mesh;
    QString m_message;
    MeshCamera m_camera;
    UvWindow m_uv;
    double m_sentFraction = 1;
    std::vector<QVector3D> m_measured;
};

} // namespace vergence
