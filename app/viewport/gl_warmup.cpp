#include "app/viewport/gl_warmup.h"

#include <QFile>
#include <QImage>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QOpenGLWidget>

#include "app/viewport/gl_viewport.h"
#include "app/viewport/view_scene.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence {
namespace {

constexpr std::uint32_t kSides[] = {8,
                                    128}; // pixels of the pictures: they are made larger, smaller

Frame blankFrame(PixelFormat format, std::uint32_t layers, std::uint32_t side)
{
    Frame frame;
    frame.info.stream = std::to_string(static_cast<int>(format)) + "x" + std::to_string(layers) +
                        "x" + std::to_string(side);
    frame.info.sequence = 1;
    frame.info.format = format;
    frame.info.width = frame.info.height = side;
    frame.info.layers = layers;
    frame.pixels.resize(frame.info.pixelBytes());
    return frame;
}

/// One stream for every kind of texture: a flat picture and a stack of each format, small and
/// large.
std::vector<Frame> everyKind()
{
    std::vector<Frame> frames;
    for (const PixelFormat format : {PixelFormat::Rgba8, PixelFormat::Rgba16F, PixelFormat::R32F})
        for (const std::uint32_t layers : {1U, 3U})
            for (const std::uint32_t side : kSides)
                frames.push_back(blankFrame(format, layers, side));
    return frames;
}

void drawEverything()
{
    ViewScene scene;
    GlViewport viewport(scene, nullptr);
    viewport.resize(64, 48);
    std::vector<StreamDecl> streams;
    for (const Frame& frame : everyKind())
        streams.push_back({frame.info.stream,
                           frame.info.stream,
                           frame.info.layers > 1 ? StreamKind::ImageStack : StreamKind::Image,
                           {},
                           "all"});
    scene.setStreams(streams);
    for (Frame& frame : everyKind())
        scene.setFrame(std::move(frame));
    for (const StreamDecl& stream : streams) {
        for (const ViewMode mode : {ViewMode::Image, ViewMode::StackGrid, ViewMode::Stack3d}) {
            scene.edit([&](ViewSettings& settings) {
                settings.mode = mode;
                settings.stream = stream.id;
            });
            viewport.grabFramebuffer();
        }
        for (const bool isSigned : {false, true}) {
            scene.edit([&](ViewSettings& settings) {
                settings.mode = ViewMode::Compare;
                settings.compare.mode = CompareMode::Difference;
                settings.compare.isSigned = isSigned;
                settings.compare.a = settings.compare.b = stream.id;
            });
            viewport.grabFramebuffer();
        }
    }
}

/// A triangle with all that a mesh can have.
PreparedMesh smallMesh()
{
    ViewMesh mesh;
    mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    mesh.triangles = {{0, 1, 2}};
    mesh.uv = {{0, 0}, {1, 0}, {0, 1}};
    mesh.colours.assign(3, qRgb(200, 100, 50));
    mesh.textures.emplace_back(4, 4, QImage::Format_RGBA8888);
    mesh.textures.back().fill(Qt::gray);
    mesh.parts = {{{}, 0, 1, 0}};
    return prepareMesh(std::move(mesh), {});
}

void drawMeshes()
{
    ViewScene scene;
    MeshScene meshes;
    GlViewport viewport(scene, nullptr);
    viewport.setMeshes(&meshes);
    viewport.resize(64, 48);
    scene.setHasMeshes(true);
    meshes.setMesh(std::make_shared<const PreparedMesh>(smallMesh()));
    const ScenePose pose = homePose(*meshes.mesh(), meshes.up(), viewport.size());
    meshes.setCamera({pose.viewToWorld, pose.focal});
    for (int shading = 0; shading < kMeshShadingCount; ++shading) {
        meshes.edit([&](MeshSettings& settings) {
            settings.shading = static_cast<MeshShading>(shading);
            settings.marksEdges = true;
        });
        viewport.grabFramebuffer();
    }
}

/// Names this version and the driver; a new one of either compiles anew.
std::string driverName(QOpenGLFunctions& gl)
{
    std::string name = VERGENCE_VERSION;
    for (const GLenum part : {GL_VENDOR, GL_RENDERER, GL_VERSION}) {
        const GLubyte* text = gl.glGetString(part);
        name += "\n" + std::string(text == nullptr ? "?" : reinterpret_cast<const char*>(text));
    }
    return name + "\n";
}

std::string currentDriver()
{
    QOffscreenSurface surface;
    surface.create();
    QOpenGLContext context;
    if (!context.create() || !context.makeCurrent(&surface))
        return {};
    return driverName(*context.functions());
}

} // namespace

int warmShaderCache(const std::filesystem::path& mark)
{
    QString reason;
    if (!GlViewport::isAvailable(&reason))
        return 1;
    const std::string driver = currentDriver();
    try {
        if (std::filesystem::exists(mark) && readFile(mark) == driver)
            return 0;
        drawEverything();
        drawMeshes();
        std::filesystem::create_directories(mark.parent_path());
        writeFileAtomic(mark, driver);
    } catch (const std::exception& error) {
        log("viewport").debug("Shaders are compiled when they are needed. {}", error.what());
    }
    return 0;
}

void reserveGlSurface(QWidget& parent)
{
    QString reason;
    if (!GlViewport::isAvailable(&reason) || GlViewport::isWithoutGpu())
        return;
    auto* surface = new QOpenGLWidget(&parent);
    surface->setObjectName(QStringLiteral("glSurface"));
    surface->hide();
}

} // namespace vergence
