#include "app/viewport/view_panel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/viewport/control_strip.h"
#include "app/viewport/diagram_view.h"
#include "app/viewport/gl_viewport.h"
#include "app/viewport/mesh/mesh_overlay.h"
#include "app/viewport/mesh_pane.h"
#include "app/viewport/mesh_tools.h"
#include "app/viewport/painted_viewport.h"
#include "app/viewport/scene_navigator.h"
#include "app/viewport/software_view.h"
#include "app/viewport/view_interaction.h"
#include "app/viewport/view_scene.h"
#include "app/viewport/view_tools.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/view/diagram.h"

namespace vergence {
namespace {

constexpr int kInputMilliseconds = 16; ///< at most one ViewInput in this time
constexpr int kToggleSide = 18;
constexpr qint64 kRateMilliseconds = 2000; ///< frames of this long tell the rate

std::vector<double> viewToWorld(const OrbitCamera& camera)
{
    const QMatrix4x4 matrix = camera.worldToView().inverted();
    const float* columns = matrix.constData();
    return {columns, columns + 16};
}

} // namespace

struct ViewPanel::Impl {
    explicit Impl(ViewPanel& panel) : owner(panel), navigator(scene), meshes(scene) {}

    void build();
    QWidget* makeStatusRow();
    void collapse(bool collapsed);
    void makeCanvas();
    void useSoftware(const QString& reason);
    void connectScene();
    void showPage();
    void showStatus();
    void showPointer(const QString& stream, int layer, double x, double y);
    void pick(const std::string& stream, int layer, double x, double y);
    void connectNavigator();
    void connectMeshes();
    QString wordsInsteadOfPicture() const;
    void sendScene();
    bool isSplats(const std::string& stream) const;
    void send(const std::string& id, std::vector<double> value);
    void sendSoon();
    void sendNow();
    void digit(int number);
    double rate(const std::string& stream);

    ViewPanel& owner;
    ViewScene scene;
    SceneNavigator navigator;
    MeshPane meshes;
    ViewTools* tools = nullptr;
    QStackedWidget* pages = nullptr;
    QWidget* canvas = nullptr;      ///< a GlViewport, a PaintedViewport or the software view
    GlViewport* viewport = nullptr; ///< the canvas, or what draws its pictures
    SoftwareView* software = nullptr;
    ViewInteraction* interaction = nullptr;
    DiagramView* diagram = nullptr;
    QLabel *message = nullptr, *status = nullptr, *probe = nullptr, *transport = nullptr;
    ControlStrip* controls = nullptr;
    QToolButton* controlsToggle = nullptr;
    QString text; ///< of setMessage
    bool isHeldBack = false;
    std::uint64_t shownDiagram = 0;
    int picks = 0, fits = 0, focuses = 0, lines = 0; ///< so that the same once more is news
    std::map<std::string, std::deque<qint64>> arrivals;
    QElapsedTimer clock, sinceInput;
    QTimer inputTimer, statusTimer;
    ViewInput input; ///< everything the viewer touched so far
    std::vector<double> camera;
    std::set<std::string> controlIds;
};

void ViewPanel::Impl::build()
{
    auto* column = new QVBoxLayout(&owner);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    tools = new ViewTools(scene, &owner);
    new MeshTools(scene, meshes.meshes(), *tools);
    pages = new QStackedWidget(&owner);
    diagram = new DiagramView(pages);
    message = new QLabel(pages);
    message->setObjectName(QStringLiteral("viewMessage"));
    message->setAlignment(Qt::AlignCenter);
    message->setWordWrap(true);
    message->setMargin(24);
    message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    pages->addWidget(message);
    pages->addWidget(diagram);
    makeCanvas();
    controls = new ControlStrip(&owner);
    column->addWidget(tools);
    column->addWidget(pages, 1);
    column->addWidget(controls);
    column->addWidget(makeStatusRow());
    connectScene();
}

QWidget* ViewPanel::Impl::makeStatusRow()
{
    auto* strip = new QWidget(&owner);
    auto* row = new QHBoxLayout(strip);
    row->setContentsMargins(6, 0, 8, 1);
    controlsToggle = new QToolButton(strip);
    controlsToggle->setObjectName(QStringLiteral("viewControlsToggle"));
    controlsToggle->setAutoRaise(true);
    controlsToggle->setFixedSize(kToggleSide, kToggleSide);
    controlsToggle->setCheckable(true);
    controlsToggle->hide();
    QObject::connect(controlsToggle, &QToolButton::toggled, &owner,
                     [this](bool isChecked) { collapse(isChecked); });
    QObject::connect(controls, &ControlStrip::controlsChanged, &owner,
                     [this] { controlsToggle->setHidden(controls->isEmpty()); });
    collapse(false);
    status = new QLabel(strip);
    status->setObjectName(QStringLiteral("viewStatus"));
    probe = new QLabel(strip);
    probe->setObjectName(QStringLiteral("viewProbe"));
    transport = new QLabel(strip);
    transport->setObjectName(QStringLiteral("viewTransport"));
    for (QLabel* label : {status, probe})
        label->setMinimumWidth(1); // their texts come and go, and must not push the picture about
    row->addWidget(controlsToggle);
    row->addWidget(status);
    row->addStretch(1);
    row->addWidget(probe);
    row->addSpacing(12);
    row->addWidget(transport);
    return strip;
}

void ViewPanel::Impl::collapse(bool collapsed)
{
    controls->setCollapsed(collapsed);
    controlsToggle->setArrowType(collapsed ? Qt::UpArrow : Qt::DownArrow);
    const QString words =
        collapsed ? ViewPanel::tr("Show the controls") : ViewPanel::tr("Hide the controls");
    controlsToggle->setToolTip(words);
    controlsToggle->setAccessibleName(words);
}

void ViewPanel::Impl::makeCanvas()
{
    QString reason;
    if (!GlViewport::isAvailable(&reason))
        return useSoftware(reason);
    if (GlViewport::isWithoutGpu()) {
        auto* painted = new PaintedViewport(scene, pages);
        viewport = &painted->gl();
        canvas = painted;
    } else {
        canvas = viewport = new GlViewport(scene, pages);
    }
    viewport->setMeshes(&meshes.meshes());
    QObject::connect(viewport, &GlViewport::failed, &owner,
                     [this](const QString& why) { useSoftware(why); });
    QObject::connect(viewport, &GlViewport::transportChanged, &owner, [this] { showStatus(); });
    QObject::connect(viewport, &GlViewport::sharedDeviceChanged, &owner,
                     &ViewPanel::sharedDeviceChanged);
    pages->addWidget(canvas);
}

void ViewPanel::Impl::useSoftware(const QString& reason)
{
    if (software != nullptr)
        return;
    log("viewport").info("{} Pictures are drawn without it.", reason.toStdString());
    const bool couldShare = !owner.sharedDevice().empty();
    if (viewport != nullptr)
        canvas->deleteLater();
    viewport = nullptr;
    software = new SoftwareView(scene, pages);
    software->setToolTip(ViewPanel::tr("Reduced view: %1").arg(reason));
    canvas = software;
    pages->addWidget(canvas);
    if (interaction != nullptr) { // OpenGL failed later than at the start
        connectScene();
        showPage();
    }
    if (couldShare)
        Q_EMIT owner.sharedDeviceChanged();
}

void ViewPanel::Impl::connectScene()
{
    canvas->setAccessibleName(ViewPanel::tr("Picture"));
    const bool isFirst = interaction == nullptr;
    interaction = new ViewInteraction(scene, canvas);
    navigator.attach(canvas);
    meshes.attach(canvas, pages);
    QObject::connect(interaction, &ViewInteraction::pointerMoved, &owner,
                     [this](const QString& stream, int layer, double x, double y) {
                         showPointer(stream, layer, x, y);
                     });
    QObject::connect(interaction, &ViewInteraction::pointerLeft, probe, &QLabel::clear);
    QObject::connect(interaction, &ViewInteraction::digitPressed, &owner,
                     [this](int number) { digit(number); });
    QObject::connect(interaction, &ViewInteraction::playToggled, controls,
                     &ControlStrip::togglePlay);
    QObject::connect(interaction, &ViewInteraction::picked, &owner,
                     [this](const QString& stream, int layer, double x, double y) {
                         pick(stream.toStdString(), layer, x, y);
                     });
    if (!isFirst)
        return;
    QObject::connect(tools, &ViewTools::fitRequested, &owner, [this] {
        if (scene.settings().mode == ViewMode::Splats)
            Q_EMIT navigator.fitRequested();
        else if (scene.settings().mode == ViewMode::Mesh)
            meshes.fit();
        else if (scene.settings().mode == ViewMode::Stack3d)
            interaction->frameAll();
        else
            interaction->fit();
    });
    QObject::connect(tools, &ViewTools::oneToOneRequested, &owner,
                     [this] { interaction->oneToOne(); });
    QObject::connect(&scene, &ViewScene::changed, &owner, [this] { showPage(); });
    QObject::connect(&scene, &ViewScene::settingsChanged, &owner, [this] {
        owner.layout()->activate(); // the tools may need another line now
        auto now = viewToWorld(scene.settings().camera);
        if (scene.settings().mode == ViewMode::Stack3d && now != camera) {
            camera = now;
            send("camera", std::move(now));
        }
    });
    QObject::connect(&scene, &ViewScene::visibleStreamsChanged, &owner,
                     &ViewPanel::visibleStreamsChanged);
    QObject::connect(&scene, &ViewScene::visibleStreamsChanged, controls,
                     [this] { controls->showFor(scene.visibleStreams()); });
    QObject::connect(
        controls, &ControlStrip::valueChanged, &owner,
        [this](const std::string& id, const std::vector<double>& value) { send(id, value); });
    QObject::connect(controls, &ControlStrip::textChanged, &owner,
                     [this](const std::string& id, const std::string& text) {
                         input.texts[id] = text;
                         send(id, {static_cast<double>(++lines)});
                     });
    QObject::connect(diagram, &DiagramView::parameterDragged, &owner, &ViewPanel::parameterDragged);
    QObject::connect(diagram, &DiagramView::clicked, &owner,
                     [this](double x, double y) { pick(scene.settings().stream, 0, x, y); });
    connectNavigator();
    connectMeshes();
    inputTimer.setSingleShot(true);
    QObject::connect(&inputTimer, &QTimer::timeout, &owner, [this] { sendNow(); });
    statusTimer.setInterval(500);
    QObject::connect(&statusTimer, &QTimer::timeout, &owner, [this] { showStatus(); });
    clock.start();
    showPage();
}

QString ViewPanel::Impl::wordsInsteadOfPicture() const
{
    if (scene.settings().mode == ViewMode::Mesh)
        return software != nullptr
                   ? ViewPanel::tr("Meshes are drawn with OpenGL 3.3, which is missing here. %1")
                         .arg(software->toolTip())
                   : meshes.words();
    if (scene.streams().empty())
        return text.isEmpty() ? ViewPanel::tr("Nothing to show yet.") : text;
    if (!scene.hasPicture())
        return text.isEmpty() ? ViewPanel::tr("Waiting for the first picture.") : text;
    return {};
}

void ViewPanel::Impl::showPage()
{
    const ViewSettings& settings = scene.settings();
    QString words = wordsInsteadOfPicture();
    const auto shown = scene.frame(settings.stream);
    if (words.isEmpty() && settings.mode == ViewMode::Diagram && shown->revision != shownDiagram) {
        try {
            diagram->setDiagram(Diagram::fromJson(shown->frame.info.meta));
            shownDiagram = shown->revision;
        } catch (const Error& error) {
            words = ViewPanel::tr("The drawing cannot be read: %1")
                        .arg(QString::fromUtf8(error.what()));
        }
    }
    if (words.isEmpty() && isHeldBack && viewport != nullptr && settings.mode != ViewMode::Diagram)
        words = ViewPanel::tr("Preparing the pictures…");
    message->setText(words);
    QWidget* page = !words.isEmpty()                     ? static_cast<QWidget*>(message)
                    : settings.mode == ViewMode::Diagram ? static_cast<QWidget*>(diagram)
                                                         : canvas;
    if (pages->currentWidget() != page)
        pages->setCurrentWidget(page);
    showStatus();
}

double ViewPanel::Impl::rate(const std::string& stream)
{
    auto& times = arrivals[stream];
    const qint64 now = clock.elapsed();
    while (!times.empty() && now - times.front() > kRateMilliseconds)
        times.pop_front();
    if (times.empty())
        statusTimer.stop();
    return times.size() < 2 ? 0 : times.size() * 1000.0 / kRateMilliseconds;
}

void ViewPanel::Impl::showStatus()
{
    const auto visible = scene.visibleStreams();
    const auto shown = visible.empty() ? nullptr : scene.frame(visible.front());
    transport->setText(software != nullptr ? ViewPanel::tr("reduced view") : owner.transportName());
    transport->setToolTip(software != nullptr ? software->toolTip()
                                              : ViewPanel::tr("Way of the pictures to the screen"));
    if (scene.settings().mode == ViewMode::Mesh) {
        const auto mesh = meshes.meshes().mesh();
        status->setText(mesh ? meshFacts(*mesh).join(QStringLiteral("  ·  ")) : QString());
        transport->clear();
        return;
    }
    if (!shown) {
        status->clear();
        return;
    }
    const FrameInfo& info = shown->frame.info;
    QStringList parts;
    if (scene.settings().mode != ViewMode::Diagram)
        parts << ViewPanel::tr("%1 × %2 px").arg(info.width).arg(info.height);
    if (info.layers > 1)
        parts << ViewPanel::tr("%1 layers").arg(info.layers);
    if (shown->isPreview)
        parts << ViewPanel::tr("preview");
    if (info.step >= 0) // a picture from a file does not know it
        parts << ViewPanel::tr("step %1").arg(info.step);
    if (const double perSecond = rate(info.stream); perSecond > 0)
        parts << ViewPanel::tr("%1 frames/s").arg(perSecond, 0, 'f', 1);
    status->setText(parts.join(QStringLiteral("  ·  ")));
}

void ViewPanel::Impl::showPointer(const QString& stream, int layer, double x, double y)
{
    if (viewport != nullptr)
        viewport->fetchPixels(stream.toStdString());
    const auto shown = scene.frame(stream.toStdString());
    probe->setText(pixelText(shown->frame, layer, static_cast<int>(x), static_cast<int>(y)));
    if (isSplats(stream.toStdString()))
        return; // the run would draw the scene once more for every movement
    input.texts["pointer_stream"] = stream.toStdString();
    send("pointer", {x, y});
}

void ViewPanel::Impl::pick(const std::string& stream, int layer, double x, double y)
{
    input.texts["pick_stream"] = stream;
    send("pick", {x, y, static_cast<double>(layer), static_cast<double>(++picks)});
}

bool ViewPanel::Impl::isSplats(const std::string& stream) const
{
    const StreamDecl* declared = scene.stream(stream);
    return declared != nullptr && declared->kind == StreamKind::Splats;
}

void ViewPanel::Impl::connectNavigator()
{
    QObject::connect(&navigator, &SceneNavigator::moved, &owner, [this] { sendScene(); });
    QObject::connect(&navigator, &SceneNavigator::fitRequested, &owner,
                     [this] { send("fit", {static_cast<double>(++fits)}); });
    QObject::connect(&navigator, &SceneNavigator::focusRequested, &owner, [this](QPointF at) {
        send("focus", {at.x(), at.y(), static_cast<double>(++focuses)});
    });
    QObject::connect(&navigator, &SceneNavigator::picked, &owner,
                     [this](const QString& stream, QPointF at) {
                         pick(stream.toStdString(), 0, at.x(), at.y());
                     });
}

void ViewPanel::Impl::connectMeshes()
{
    const MeshScene* of = &meshes.meshes();
    QObject::connect(of, &MeshScene::messageChanged, &owner, [this] { showPage(); });
    QObject::connect(of, &MeshScene::meshChanged, &owner, [this] { showPage(); });
    QObject::connect(of, &MeshScene::settingsChanged, &owner,
                     [this] { owner.layout()->activate(); });
    QObject::connect(of, &MeshScene::problemFound, &owner, &ViewPanel::problemFound);
}

/// What the run needs to draw a scene as the viewer looks at it.
void ViewPanel::Impl::sendScene()
{
    const bool hasNews = navigator.camera() || !navigator.viewport().isEmpty();
    if (scene.settings().mode != ViewMode::Splats || !hasNews)
        return;
    if (const auto& seen = navigator.camera()) {
        const auto matrix = seen->viewToWorld();
        input.values["camera"] = {matrix.begin(), matrix.end()};
        input.values["focal"] = {seen->focal()};
    }
    if (const QSize size = navigator.viewport(); !size.isEmpty())
        input.values["viewport"] = {static_cast<double>(size.width()),
                                    static_cast<double>(size.height())};
    send("moving", {navigator.isMoving() ? 1.0 : 0.0});
}

void ViewPanel::Impl::send(const std::string& id, std::vector<double> value)
{
    input.values[id] = std::move(value);
    sendSoon();
}

/// The latest of everything, once in a while.
void ViewPanel::Impl::sendSoon()
{
    if (inputTimer.isActive())
        return;
    const qint64 waited = sinceInput.isValid() ? sinceInput.elapsed() : kInputMilliseconds;
    if (waited >= kInputMilliseconds)
        sendNow();
    else
        inputTimer.start(static_cast<int>(kInputMilliseconds - waited));
}

void ViewPanel::Impl::sendNow()
{
    ++input.sequence;
    sinceInput.start();
    Q_EMIT owner.viewInputChanged(input);
}

void ViewPanel::Impl::digit(int number)
{
    if (scene.settings().mode == ViewMode::Splats && controls->choose("mode", number - 1))
        return;
    if (controls->hasToggles())
        return number == 0 ? controls->showAll() : controls->solo(number - 1);
    const auto modes = scene.modes();
    if (number >= 1 && number <= static_cast<int>(modes.size()))
        scene.edit([&](ViewSettings& s) { s.mode = modes[number - 1]; });
}

ViewPanel::ViewPanel(QWidget* parent) : QWidget(parent), m_impl(std::make_unique<Impl>(*this))
{
    m_impl->build();
}

ViewPanel::~ViewPanel()
{
    // The widgets read the scene, so they go first; the scene's signals no longer matter then.
    disconnect(&m_impl->scene, nullptr, nullptr, nullptr);
    disconnect(&m_impl->meshes.meshes(), nullptr, nullptr, nullptr);
    delete m_impl->pages;
    delete m_impl->tools;
}

void ViewPanel::setStreams(const std::vector<StreamDecl>& streams)
{
    m_impl->scene.setStreams(streams);
}

void ViewPanel::setControls(const std::vector<ViewControl>& controls)
{
    std::set<std::string> ids;
    for (const ViewControl& control : controls)
        ids.insert(control.id);
    for (const std::string& former : std::exchange(m_impl->controlIds, ids))
        if (!ids.contains(former)) {
            m_impl->input.values.erase(former);
            m_impl->input.texts.erase(former);
        }
    m_impl->controls->setControls(controls);
}

void ViewPanel::setMeshes(std::vector<MeshChoice> meshes)
{
    m_impl->meshes.meshes().setChoices(std::move(meshes));
}

const MeshScene& ViewPanel::meshes() const
{
    return m_impl->meshes.meshes();
}

void ViewPanel::setFrame(Frame frame)
{
    const bool liesElsewhere = frame.pixels.empty() && frame.shared;
    if (liesElsewhere && frame.shared->deviceUuid != sharedDevice())
        return; // sent before the run heard what this view can open; the same comes once more
    auto& times = m_impl->arrivals[frame.info.stream];
    times.push_back(m_impl->clock.elapsed());
    m_impl->statusTimer.start();
    const FrameInfo info = frame.info;
    m_impl->scene.setFrame(std::move(frame));
    if (m_impl->isSplats(info.stream))
        m_impl->navigator.takeFrame(info);
}

void ViewPanel::clear()
{
    m_impl->arrivals.clear();
    m_impl->diagram->clear();
    m_impl->probe->clear();
    m_impl->navigator.forgetCamera();
    m_impl->scene.clear();
}

std::vector<std::string> ViewPanel::visibleStreams() const
{
    return m_impl->scene.visibleStreams();
}

void ViewPanel::setHeldBack(bool isHeldBack)
{
    m_impl->isHeldBack = isHeldBack;
    m_impl->showPage();
}

void ViewPanel::setMessage(const QString& text)
{
    m_impl->text = text;
    m_impl->showPage();
}

QImage ViewPanel::grabView() const
{
    QWidget* page = m_impl->pages->currentWidget();
    if (page == m_impl->canvas && m_impl->viewport != nullptr)
        return m_impl->viewport->grabFramebuffer().convertToFormat(QImage::Format_RGB32);
    return page->grab().toImage();
}

QString ViewPanel::transportName() const
{
    return m_impl->viewport != nullptr ? m_impl->viewport->transportName()
                                       : QStringLiteral("software");
}

int ViewPanel::paintCount() const
{
    return m_impl->viewport != nullptr ? m_impl->viewport->paintCount()
                                       : m_impl->software->paintCount();
}

void ViewPanel::setUploader(std::unique_ptr<FrameUploader> uploader)
{
    if (m_impl->viewport != nullptr)
        m_impl->viewport->setUploader(std::move(uploader));
}

std::string ViewPanel::sharedDevice() const
{
    return m_impl->viewport != nullptr ? m_impl->viewport->sharedDevice() : std::string();
}

std::optional<Frame> ViewPanel::frameWithPixels(const std::string& stream)
{
    if (m_impl->viewport != nullptr)
        m_impl->viewport->fetchPixels(stream);
    const auto shown = m_impl->scene.frame(stream);
    return shown && shown->hasPixels() ? std::optional(shown->frame) : std::nullopt;
}

void ViewPanel::closeSources()
{
    if (m_impl->viewport != nullptr)
        m_impl->viewport->closeSources();
}

} // namespace vergence
