#include "app/export/export_pages.h"

#include <algorithm>

#include <QFormLayout>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include "core/artifact/video/video.h"

namespace vergence {
namespace {

enum class Media { Gif, Png, Mp4 };

std::uint64_t sum(const std::vector<std::pair<std::string, std::uint64_t>>& files)
{
    std::uint64_t bytes = 0;
    for (const auto& [path, size] : files)
        bytes += size;
    return bytes;
}

QCheckBox* makeTick(const char* name, const QString& text, bool isOn, QWidget* parent)
{
    auto* box = new QCheckBox(text, parent);
    box->setObjectName(QLatin1String(name));
    box->setChecked(isOn);
    return box;
}

template <class Widget>
Widget* named(Widget* widget, const char* name, const QString& title)
{
    widget->setObjectName(QLatin1String(name));
    widget->setAccessibleName(title);
    return widget;
}

} // namespace

ZipPage::ZipPage(const RunFolder& folder, QImage currentView, QWidget* parent)
    : ExportPage(parent),
      m_currentView(std::move(currentView)),
      m_tree(new ArtifactTree(folder, this)),
      m_checkpointFiles(checkpointFiles(folder))
{
    const auto bytes = sum(m_checkpointFiles);
    m_checkpoints = makeTick("exportCheckpoints",
                             tr("Include checkpoints (%1)").arg(sizeText(bytes)), false, this);
    m_checkpoints->setEnabled(!m_checkpointFiles.empty());
    if (m_checkpointFiles.empty())
        m_checkpoints->setToolTip(tr("This run has no checkpoint."));
    m_anonymise = makeTick("exportAnonymise", tr("Anonymise paths"), true, this);
    m_anonymise->setToolTip(tr("Absolute paths, host and user names leave the copied text files."));
    m_verify = makeTick("exportVerify", tr("Verify after writing"), true, this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_tree, 1);
    for (QCheckBox* box : {m_checkpoints, m_anonymise, m_verify}) {
        layout->addWidget(box);
        connect(box, &QCheckBox::toggled, this, &ExportPage::changed);
    }
    connect(m_tree, &ArtifactTree::ticksChanged, this, &ExportPage::changed);
}

std::optional<ExportPlan> ZipPage::plan() const
{
    const auto ticked = m_tree->ticked();
    if (ticked.empty())
        return std::nullopt;
    ZipPlan plan;
    plan.includesCheckpoints = m_checkpoints->isChecked();
    plan.anonymisesPaths = m_anonymise->isChecked();
    plan.verifies = m_verify->isChecked();
    plan.bytes = m_tree->tickedBytes() + (plan.includesCheckpoints ? sum(m_checkpointFiles) : 0);
    if (!m_tree->isComplete()) {
        plan.files = ticked;
        if (plan.includesCheckpoints)
            for (const auto& [path, size] : m_checkpointFiles)
                plan.files.push_back(path);
    }
    return plan;
}

QString ZipPage::whyNot() const
{
    return tr("No file is ticked. Tick at least one.");
}

MediaPage::MediaPage(const RunFolder& folder, QImage currentView, QWidget* parent)
    : ExportPage(parent),
      m_currentView(std::move(currentView)),
      m_sequences(findImageSequences(folder)),
      m_kind(named(new QComboBox(this), "exportMediaKind", tr("Kind of media"))),
      m_sequence(named(new QComboBox(this), "exportSequence", tr("Image sequence"))),
      m_scale(named(new QComboBox(this), "exportScale", tr("Size of the frames"))),
      m_first(named(new QSpinBox(this), "exportFirstFrame", tr("First frame"))),
      m_last(named(new QSpinBox(this), "exportLastFrame", tr("Last frame"))),
      m_delay(named(new QSpinBox(this), "exportDelay", tr("Delay between frames"))),
      m_loops(makeTick("exportLoops", tr("Repeat for ever"), true, this)),
      m_dithers(makeTick("exportDithers", tr("Dither colours"), false, this)),
      m_facts(new QLabel(this)),
      m_animationOptions(new QWidget(this))
{
    build();
    for (const ImageSequence& sequence : m_sequences)
        m_sequence->addItem(tr("%1 (%2 frames)")
                                .arg(QString::fromStdString(sequence.pattern))
                                .arg(sequence.frames.size()));
    if (m_sequences.empty() && !m_currentView.isNull())
        m_kind->setCurrentIndex(m_kind->findData(static_cast<int>(Media::Png)));
    showSequence();
    connect(m_sequence, &QComboBox::currentIndexChanged, this, &MediaPage::showSequence);
    for (QComboBox* combo : {m_kind, m_sequence, m_scale})
        connect(combo, &QComboBox::currentIndexChanged, this, &ExportPage::changed);
    for (QSpinBox* spin : {m_first, m_last, m_delay})
        connect(spin, &QSpinBox::valueChanged, this, &ExportPage::changed);
    for (QCheckBox* box : {m_loops, m_dithers})
        connect(box, &QCheckBox::toggled, this, &ExportPage::changed);
    connect(this, &ExportPage::changed, this, [this] {
        const auto kind = static_cast<Media>(m_kind->currentData().toInt());
        m_animationOptions->setVisible(kind != Media::Png);
        for (QCheckBox* box : {m_loops, m_dithers})
            box->setVisible(kind == Media::Gif);
    });
    Q_EMIT changed();
}

void MediaPage::addKinds()
{
    std::string reason;
    const bool hasVideo = videoModule(&reason) != nullptr;
    m_kind->addItem(tr("GIF of an image sequence"), static_cast<int>(Media::Gif));
    m_kind->addItem(tr("PNG of the current view"), static_cast<int>(Media::Png));
    m_kind->addItem(hasVideo ? tr("MP4 of an image sequence")
                             : tr("MP4 – needs the video module, which is not here"),
                    static_cast<int>(Media::Mp4));
    auto* items = qobject_cast<QStandardItemModel*>(m_kind->model());
    items->item(static_cast<int>(Media::Png))->setEnabled(!m_currentView.isNull());
    items->item(static_cast<int>(Media::Mp4))->setEnabled(hasVideo);
    items->item(static_cast<int>(Media::Mp4))->setToolTip(QString::fromStdString(reason));
}

void MediaPage::build()
{
    addKinds();
    for (const double scale : {0.25, 0.5, 1.0, 2.0, 4.0})
        m_scale->addItem(QStringLiteral("%1 %").arg(100 * scale), scale);
    m_scale->setCurrentIndex(2);
    m_delay->setRange(2, 1000);
    m_delay->setValue(GifOptions{}.delayCentiseconds);
    m_delay->setSuffix(tr(" /100 s"));
    m_sequence->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_sequence->setMinimumContentsLength(20);
    m_facts->setObjectName(QStringLiteral("exportFacts"));
    m_facts->setWordWrap(true);
    auto* frames = new QHBoxLayout;
    frames->addWidget(m_first);
    frames->addWidget(new QLabel(tr("to"), this));
    frames->addWidget(m_last);
    frames->addStretch();
    auto* form = new QFormLayout(m_animationOptions);
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(tr("Sequence"), m_sequence);
    form->addRow(tr("Frames"), frames);
    form->addRow(tr("Delay"), m_delay);
    form->addRow(tr("Size"), m_scale);
    form->addRow(QString(), m_loops);
    form->addRow(QString(), m_dithers);
    form->addRow(QString(), m_facts);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* kind = new QFormLayout;
    kind->addRow(tr("Kind"), m_kind);
    layout->addLayout(kind);
    layout->addWidget(m_animationOptions);
    layout->addStretch(1);
}

void MediaPage::showSequence()
{
    const int index = m_sequence->currentIndex();
    if (index < 0) {
        m_facts->setText(whyNot());
        return;
    }
    const auto& frames = m_sequences[index].frames;
    m_firstFrame = QImage(QString::fromStdString(frames.front().string()));
    const QSignalBlocker firstBlocker(m_first), lastBlocker(m_last);
    const int count = static_cast<int>(frames.size());
    m_first->setRange(1, count);
    m_last->setRange(1, count);
    m_first->setValue(1);
    m_last->setValue(count);
    m_facts->setText(tr("First frame: %1, %2 × %3 px")
                         .arg(QString::fromStdString(frames.front().filename().string()))
                         .arg(m_firstFrame.width())
                         .arg(m_firstFrame.height()));
}

std::optional<ExportPlan> MediaPage::plan() const
{
    const auto kind = static_cast<Media>(m_kind->currentData().toInt());
    if (kind == Media::Png && !m_currentView.isNull())
        return PngPlan{m_currentView};
    const int index = m_sequence->currentIndex();
    if (kind == Media::Png || index < 0 || m_first->value() > m_last->value())
        return std::nullopt;
    const ImageSequence& all = m_sequences[index];
    const ImageSequence chosen{
        all.pattern,
        {all.frames.begin() + m_first->value() - 1, all.frames.begin() + m_last->value()}};
    const double scale = m_scale->currentData().toDouble();
    if (kind == Media::Mp4)
        return VideoPlan{chosen, 100.0 / m_delay->value(), scale, m_firstFrame.size()};
    GifPlan plan;
    plan.sequence = chosen;
    plan.options = {m_delay->value(), m_loops->isChecked(), m_dithers->isChecked()};
    plan.scale = scale;
    plan.size = m_firstFrame.size();
    plan.isWhole = chosen.frames.size() == all.frames.size();
    return plan;
}

QString MediaPage::whyNot() const
{
    if (m_sequences.empty())
        return tr(
            "This run has no image sequence yet: at least two pictures of one name in sibling "
            "folders, or with numbered names.");
    if (m_first->value() > m_last->value())
        return tr("The first frame lies after the last. Choose an earlier first frame.");
    return tr("Choose another kind of media.");
}

QImage MediaPage::thumbnail() const
{
    return m_kind->currentData().toInt() == static_cast<int>(Media::Png) ? m_currentView
                                                                         : m_firstFrame;
}

QString MediaPage::warning() const
{
    const auto chosen = plan();
    const GifPlan* gif = chosen ? std::get_if<GifPlan>(&*chosen) : nullptr;
    if (gif == nullptr || estimatedBytes(*gif, {}) <= kLargeGifBytes)
        return {};
    return tr(
        "The GIF will be larger than 20 MB; many programs refuse that. Choose a smaller size or "
        "fewer frames.");
}

MetricsPage::MetricsPage(const RunFolder& folder, QImage currentView, QWidget* parent)
    : ExportPage(parent),
      m_folder(folder),
      m_currentView(std::move(currentView)),
      m_format(named(new QComboBox(this), "exportMetricsFormat", tr("Format")))
{
    m_format->addItem(tr("CSV, one row per value"), static_cast<int>(MetricsPlan::Format::CsvRows));
    m_format->addItem(tr("CSV, one column per series"),
                      static_cast<int>(MetricsPlan::Format::CsvColumns));
    m_format->addItem(tr("JSON"), static_cast<int>(MetricsPlan::Format::Json));
    m_format->addItem(tr("Events for TensorBoard"),
                      static_cast<int>(MetricsPlan::Format::TensorBoard));
    auto* note =
        new QLabel(tr("Every value that the run reported is written, without smoothing."), this);
    note->setWordWrap(true);
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(tr("Format"), m_format);
    form->addRow(QString(), note);
    connect(m_format, &QComboBox::currentIndexChanged, this, &ExportPage::changed);
}

std::optional<ExportPlan> MetricsPage::plan() const
{
    std::error_code code;
    if (!std::filesystem::exists(m_folder.metrics(), code))
        return std::nullopt;
    return MetricsPlan{static_cast<MetricsPlan::Format>(m_format->currentData().toInt())};
}

QString MetricsPage::whyNot() const
{
    return tr("The run has not reported a number yet. Export when it has.");
}

} // namespace vergence
