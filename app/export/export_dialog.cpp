#include "app/export/export_dialog.h"

#include <filesystem>

#include <QClipboard>
#include <QDesktopServices>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGroupBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "app/export/export_job.h"
#include "app/export/export_pages.h"
#include "core/artifact/artifact_store.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/export_names.h"
#include "core/base/error.h"

namespace vergence {
namespace {

constexpr QSize kThumbnail(220, 150);

/// Facts that say where the results come from; missing files leave words instead of failing the
/// dialog.
struct Provenance {
    QString plugin, state, configHash, checkpoint;
};

Provenance provenanceOf(const RunFolder& folder)
{
    Provenance facts{ExportDialog::tr("unknown"), ExportDialog::tr("unknown"),
                     ExportDialog::tr("none"), ExportDialog::tr("none")};
    try {
        const RunStatus status = readStatus(folder);
        facts.plugin = QString::fromStdString(status.plugin);
        facts.state = ExportDialog::tr("%1, step %2")
                          .arg(QString::fromStdString(status.state))
                          .arg(status.step);
        facts.configHash = QString::fromStdString(sha256OfFile(folder.config()));
        const auto checkpoints = listCheckpoints(folder);
        if (!checkpoints.empty())
            facts.checkpoint = QString::fromStdString(checkpoints.back().filename().string());
    } catch (const Error&) {
        // The words set above stand for what cannot be read; exporting what is there stays
        // possible.
    }
    return facts;
}

} // namespace

struct ExportDialog::Impl {
    Impl(ExportDialog& dialog, RunFolder runFolder, QImage view)
        : owner(dialog),
          folder(std::move(runFolder)),
          currentView(std::move(view)),
          facts(provenanceOf(folder))
    {
    }

    void build();
    QWidget* makeProvenance();
    QWidget* makeDestination();
    QWidget* makeButtons();
    ExportPage* page() const { return qobject_cast<ExportPage*>(pages->currentWidget()); }
    void refresh();
    std::filesystem::path place() const;
    QString nameOf(const ExportPlan& plan) const; ///< as the pattern says
    QString target() const;                       ///< a file that is not there yet
    void showName(const ExportPlan& plan);
    void start();
    void setRunning(bool running);
    void succeed(const QString& path);
    void fail(const QString& problemId, const QString& sentence);
    void openFolder(const QString& path) const;

    ExportDialog& owner;
    RunFolder folder;
    QImage currentView;
    Provenance facts;
    QListWidget* what = nullptr;
    QStackedWidget* pages = nullptr;
    ZipPage* zip = nullptr;
    QLabel *thumbnail = nullptr, *estimate = nullptr, *warning = nullptr, *error = nullptr;
    QLabel *result = nullptr, *name = nullptr;
    QLineEdit *destination = nullptr, *pattern = nullptr;
    QCheckBox* opensFolder = nullptr;
    QPushButton *copyCommand = nullptr, *exportButton = nullptr, *cancelButton = nullptr;
    QPushButton* browse = nullptr;
    QProgressBar* progress = nullptr;
    std::unique_ptr<ExportJob> job;
    bool isRunning = false;
};

void ExportDialog::Impl::build()
{
    owner.setObjectName(QStringLiteral("exportDialog"));
    owner.setWindowTitle(tr("Export – %1").arg(QString::fromStdString(folder.id())));
    what = new QListWidget(&owner);
    what->setObjectName(QStringLiteral("exportWhat"));
    what->setAccessibleName(tr("What to export"));
    what->addItems({tr("Results ZIP"), tr("Media"), tr("Metrics")});
    what->setFixedWidth(what->sizeHintForColumn(0) + 40);
    pages = new QStackedWidget(&owner);
    zip = new ZipPage(folder, currentView, pages);
    for (ExportPage* each :
         {static_cast<ExportPage*>(zip),
          static_cast<ExportPage*>(new MediaPage(folder, currentView, pages)),
          static_cast<ExportPage*>(new MetricsPage(folder, currentView, pages))}) {
        pages->addWidget(each);
        QObject::connect(each, &ExportPage::changed, &owner, [this] { refresh(); });
    }
    auto* row = new QHBoxLayout;
    row->addWidget(what);
    row->addWidget(pages, 1);
    row->addWidget(makeProvenance());
    auto* column = new QVBoxLayout(&owner);
    column->addLayout(row, 1);
    column->addWidget(makeDestination());
    column->addWidget(makeButtons());
    QObject::connect(what, &QListWidget::currentRowChanged, &owner, [this](int index) {
        pages->setCurrentIndex(index);
        refresh();
    });
    what->setCurrentRow(0);
    owner.resize(940, 600);
    refresh();
}

QWidget* ExportDialog::Impl::makeProvenance()
{
    auto* box = new QGroupBox(tr("Provenance"), &owner);
    box->setObjectName(QStringLiteral("exportProvenance"));
    auto* column = new QVBoxLayout(box);
    auto* form = new QFormLayout;
    const auto add = [&](const QString& title, const QString& text, const QString& tip = {}) {
        auto* label = new QLabel(text, box);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setToolTip(tip);
        form->addRow(title, label);
    };
    // A run's name is long; it may break after its dashes.
    add(tr("Run"),
        QString::fromStdString(folder.id()).replace(QLatin1Char('-'), QStringLiteral("-\u200b")));
    add(tr("Plugin"), facts.plugin);
    add(tr("State"), facts.state);
    add(tr("Checkpoint"), facts.checkpoint);
    add(tr("Config"), facts.configHash.left(12), facts.configHash);
    add(tr("Files"), QString::number(zip->fileCount()));
    column->addLayout(form);
    thumbnail = new QLabel(box);
    thumbnail->setObjectName(QStringLiteral("exportThumbnail"));
    thumbnail->setFixedSize(kThumbnail);
    thumbnail->setAlignment(Qt::AlignCenter);
    column->addWidget(thumbnail);
    estimate = new QLabel(box);
    estimate->setObjectName(QStringLiteral("exportEstimate"));
    column->addWidget(estimate);
    column->addStretch(1);
    box->setFixedWidth(kThumbnail.width() + 28);
    return box;
}

QWidget* ExportDialog::Impl::makeDestination()
{
    auto* box = new QWidget(&owner);
    auto* form = new QFormLayout(box);
    form->setContentsMargins(0, 0, 0, 0);
    destination = new QLineEdit(QString::fromStdString(folder.exports().string()), box);
    destination->setObjectName(QStringLiteral("exportDestination"));
    browse = new QPushButton(tr("Browse…"), box);
    browse->setObjectName(QStringLiteral("exportBrowseButton"));
    pattern = new QLineEdit(QStringLiteral("{run}_{what}"), box);
    pattern->setObjectName(QStringLiteral("exportNamePattern"));
    pattern->setToolTip(tr("Placeholders: {project}, {run}, {plugin}, {what}, {date}"));
    name = new QLabel(box);
    name->setObjectName(QStringLiteral("exportFileName"));
    name->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* place = new QHBoxLayout;
    place->addWidget(destination, 1);
    place->addWidget(browse);
    auto* naming = new QHBoxLayout;
    naming->addWidget(pattern, 1);
    naming->addWidget(name, 2);
    form->addRow(tr("Folder"), place);
    form->addRow(tr("Name"), naming);
    for (QLineEdit* edit : {destination, pattern})
        QObject::connect(edit, &QLineEdit::textChanged, &owner, [this] { refresh(); });
    QObject::connect(browse, &QPushButton::clicked, &owner, [this] {
        const QString chosen = QFileDialog::getExistingDirectory(
            &owner, tr("Folder for the export"), destination->text());
        if (!chosen.isEmpty())
            destination->setText(chosen);
    });
    return box;
}

QWidget* ExportDialog::Impl::makeButtons()
{
    auto* box = new QWidget(&owner);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    const auto makeLine = [&](const char* objectName) {
        auto* label = new QLabel(box);
        label->setObjectName(QLatin1String(objectName));
        label->setWordWrap(true);
        label->hide();
        column->addWidget(label);
        return label;
    };
    warning = makeLine("exportWarning");
    error = makeLine("exportError");
    error->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    result = makeLine("exportResult");
    result->setTextInteractionFlags(Qt::TextBrowserInteraction);
    QObject::connect(result, &QLabel::linkActivated, &owner,
                     [this](const QString& link) { openFolder(link); });
    opensFolder = new QCheckBox(tr("Open folder after"), box);
    opensFolder->setObjectName(QStringLiteral("exportOpenFolder"));
    copyCommand = new QPushButton(tr("Copy command line"), box);
    copyCommand->setObjectName(QStringLiteral("exportCopyCommand"));
    progress = new QProgressBar(box);
    progress->setObjectName(QStringLiteral("exportProgress"));
    progress->setAccessibleName(tr("Progress of the export"));
    progress->setRange(0, 1000);
    progress->setFormat(QStringLiteral("%p %"));
    progress->hide();
    exportButton = new QPushButton(tr("Export"), box);
    exportButton->setObjectName(QStringLiteral("exportButton"));
    exportButton->setDefault(true);
    cancelButton = new QPushButton(tr("Close"), box);
    cancelButton->setObjectName(QStringLiteral("exportCancelButton"));
    auto* row = new QHBoxLayout;
    row->addWidget(opensFolder);
    row->addWidget(copyCommand);
    row->addStretch(1);
    row->addWidget(progress, 2);
    row->addWidget(exportButton);
    row->addWidget(cancelButton);
    column->addLayout(row);
    QObject::connect(exportButton, &QPushButton::clicked, &owner, [this] { start(); });
    QObject::connect(cancelButton, &QPushButton::clicked, &owner, &QDialog::reject);
    QObject::connect(copyCommand, &QPushButton::clicked, &owner, [this] {
        if (const auto plan = page()->plan())
            QGuiApplication::clipboard()->setText(shellLine(commandWords(*plan, folder, target())));
    });
    return box;
}

std::filesystem::path ExportDialog::Impl::place() const
{
    return destination->text().trimmed().toStdString();
}

QString ExportDialog::Impl::nameOf(const ExportPlan& plan) const
{
    return fileName(pattern->text(), folder, facts.plugin, plan);
}

QString ExportDialog::Impl::target() const
{
    const auto plan = page()->plan();
    return plan ? QString::fromStdString(freePath(place() / nameOf(*plan).toStdString()).string())
                : QString();
}

void ExportDialog::Impl::showName(const ExportPlan& plan)
{
    const QString wanted = nameOf(plan);
    const QString free = QFileInfo(target()).fileName();
    name->setText(tr("→ %1").arg(free));
    name->setToolTip(free == wanted ? QString() : tr("%1 is there already and stays.").arg(wanted));
}

void ExportDialog::Impl::refresh()
{
    if (exportButton == nullptr || isRunning)
        return;
    const auto plan = page()->plan();
    const bool hasPlace = !destination->text().trimmed().isEmpty();
    exportButton->setEnabled(plan.has_value() && hasPlace);
    copyCommand->setEnabled(plan && !commandWords(*plan, folder, target()).isEmpty());
    copyCommand->setToolTip(copyCommand->isEnabled() ? QString()
                                                     : tr("Only the window can write this."));
    name->clear();
    if (plan)
        showName(*plan);
    estimate->setText(plan ? tr("About %1").arg(sizeText(estimatedBytes(*plan, folder)))
                           : QString());
    const QString words = !plan      ? page()->whyNot()
                          : hasPlace ? page()->warning()
                                     : tr("Name a folder for the export.");
    warning->setText(words);
    warning->setVisible(!words.isEmpty());
    const QImage picture = page()->thumbnail();
    if (picture.isNull())
        thumbnail->setText(tr("No picture"));
    else
        thumbnail->setPixmap(QPixmap::fromImage(
            picture.scaled(kThumbnail, Qt::KeepAspectRatio, Qt::SmoothTransformation)));
}

void ExportDialog::Impl::start()
{
    const auto plan = page()->plan();
    if (!plan || isRunning)
        return;
    error->hide();
    result->hide();
    job = std::make_unique<ExportJob>(folder, *plan, target().toStdString());
    QObject::connect(job.get(), &ExportJob::progressed, progress, &QProgressBar::setValue);
    QObject::connect(job.get(), &ExportJob::finished, &owner,
                     [this](const QString& path) { succeed(path); });
    QObject::connect(job.get(), &ExportJob::failed, &owner,
                     [this](const QString& id, const QString& sentence) { fail(id, sentence); });
    QObject::connect(job.get(), &ExportJob::cancelledCleanly, &owner, [this] {
        setRunning(false);
        result->setText(tr("Cancelled; nothing was written."));
        result->show();
    });
    progress->setValue(0);
    setRunning(true);
    job->start();
}

void ExportDialog::Impl::setRunning(bool running)
{
    isRunning = running;
    for (QWidget* widget : {static_cast<QWidget*>(what), static_cast<QWidget*>(pages),
                            static_cast<QWidget*>(destination), static_cast<QWidget*>(pattern),
                            static_cast<QWidget*>(browse), static_cast<QWidget*>(exportButton)})
        widget->setEnabled(!running);
    progress->setVisible(running);
    cancelButton->setText(running ? tr("Cancel") : tr("Close"));
    if (running)
        cancelButton->setFocus();
    else
        refresh();
}

void ExportDialog::Impl::succeed(const QString& path)
{
    setRunning(false);
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path.toStdString(), code);
    const QString shown =
        QString::fromStdString(std::filesystem::path(path.toStdString()).filename().string());
    result->setText(
        tr("Written: %1 (%2). <a href=\"%3\">Open folder</a>")
            .arg(shown.toHtmlEscaped(), sizeText(code ? 0 : bytes), path.toHtmlEscaped()));
    result->show();
    if (opensFolder->isChecked())
        openFolder(path);
    Q_EMIT owner.exported(path);
}

void ExportDialog::Impl::fail(const QString& problemId, const QString& sentence)
{
    setRunning(false);
    error->setText(QStringLiteral("%1: %2").arg(problemId, sentence));
    error->show();
    Q_EMIT owner.failed(problemId, sentence);
}

void ExportDialog::Impl::openFolder(const QString& path) const
{
    const auto parent = std::filesystem::path(path.toStdString()).parent_path();
    QDesktopServices::openUrl(QUrl::fromLocalFile(QString::fromStdString(parent.string())));
}

ExportDialog::ExportDialog(RunFolder folder, QImage currentView, QWidget* parent)
    : QDialog(parent),
      m_impl(std::make_unique<Impl>(*this, std::move(folder), std::move(currentView)))
{
    m_impl->build();
}

ExportDialog::~ExportDialog() = default;

void ExportDialog::setDestination(const QString& folder)
{
    if (!folder.isEmpty() && QFileInfo(folder).isDir())
        m_impl->destination->setText(folder);
}

void ExportDialog::reject()
{
    // The first request stops the export, the next closes the dialog.
    if (m_impl->isRunning)
        m_impl->job->cancel();
    else
        QDialog::reject();
}

} // namespace vergence
