#include "app/shell/inspector_panel.h"

#include <algorithm>
#include <cmath>

#include <QDesktopServices>
#include <QFileInfo>
#include <QHeaderView>
#include <QImageReader>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QScrollBar>
#include <QTextEdit>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "app/shell/run_results.h"
#include "core/artifact/manifest.h"

namespace vergence {

namespace {

constexpr int kPathRole = Qt::UserRole;
constexpr QSize kPreviewSize(260, 180);
constexpr int kRefreshMs = 500; ///< a run may report hundreds of results at once

QString htmlRow(const QString& name, const QString& value)
{
    return value.isEmpty()
               ? QString()
               : QString("<tr><td style='padding-right:10px'>%1</td><td><b>%2</b></td></tr>")
                     .arg(name.toHtmlEscaped(), value.toHtmlEscaped());
}

nlohmann::json manifestOf(const RunFolder& folder)
{
    try {
        if (std::filesystem::exists(folder.manifest()))
            return readManifest(folder);
    } catch (const std::exception&) {
        // shown as missing facts; the log of the worker says more
    }
    return nlohmann::json::object();
}

QString textAt(const nlohmann::json& json, const char* pointer)
{
    const nlohmann::json::json_pointer path(pointer);
    if (!json.contains(path) || json.at(path).is_null())
        return {};
    const nlohmann::json& value = json.at(path);
    return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Which of the results are in the folder. Only a copy of a run elsewhere may lack some, that it
/// was brought without.
std::vector<bool> presenceOf(const RunEntry& run, const std::vector<nlohmann::json>& artifacts)
{
    std::vector<bool> here;
    std::error_code ignored;
    for (const nlohmann::json& artifact : artifacts)
        here.push_back(!run.remote ||
                       std::filesystem::exists(
                           run.folder.root / artifact.value("path", std::string()), ignored));
    return here;
}

/// The moment in the words of the desktop; as it stands where it is no moment.
QString localTime(const QString& utc)
{
    const QDateTime moment = QDateTime::fromString(utc, Qt::ISODateWithMs);
    return moment.isValid() ? QLocale().toString(moment.toLocalTime(), QLocale::ShortFormat) : utc;
}

QString cellText(const nlohmann::json& cell)
{
    if (cell.is_string())
        return QString::fromStdString(cell.get<std::string>()).toHtmlEscaped();
    return cell.is_number() ? figureText(cell.get<double>()) : QString();
}

QString tableRow(const nlohmann::json& cells, const QString& tag)
{
    QString html = "<tr>";
    for (const auto& cell : cells)
        html += QString("<%1 align='left' style='padding-right:8px'><nobr>%2</nobr></%1>")
                    .arg(tag, cellText(cell));
    return html + "</tr>";
}

/// Tables of words, which charts cannot draw: one line per row.
QString wordTables(const std::vector<nlohmann::json>& tables)
{
    QString html;
    for (const nlohmann::json& table : tables) {
        const auto rows = table.value("rows", nlohmann::json::array());
        if (rows.empty() || !rows.front().is_array() || rows.front().empty() ||
            !rows.front().front().is_string())
            continue;
        html += "<br><b>" + textAt(table, "/title").toHtmlEscaped() + "</b><table>";
        html += tableRow(table.value("columns", nlohmann::json::array()), "th");
        for (const auto& row : rows)
            html += tableRow(row, "td");
        html += "</table>";
    }
    return html;
}

} // namespace

InspectorPanel::InspectorPanel(RunListModel& runs, QWidget* parent) : QWidget(parent), m_runs(runs)
{
    m_empty = new QLabel(tr("Select a run to see its facts and results."), this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_facts = new QTextEdit(this); // a QLabel lays its tables out five times
    m_facts->setObjectName("inspectorFacts");
    m_facts->setAccessibleName(tr("Facts of the run"));
    m_facts->setReadOnly(true);
    m_facts->setUndoRedoEnabled(false);
    m_facts->setLineWrapMode(QTextEdit::NoWrap);
    m_facts->setFrameShape(QFrame::NoFrame);
    m_facts->viewport()->setAutoFillBackground(false);
    m_facts->document()->setDocumentMargin(0);
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    m_problem = new QLabel(this);
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setWordWrap(true);
    m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_artifacts = new QTreeWidget(this);
    m_artifacts->setObjectName("artifactsView");
    m_artifacts->setAccessibleName(tr("Results of the run"));
    m_artifacts->setHeaderLabels({tr("Result"), tr("Kind"), tr("Size")});
    m_artifacts->setRootIsDecorated(false);
    m_artifacts->header()->resizeSection(0, 190);
    m_missing = new QLabel(this);
    m_missing->setObjectName("inspectorMissing");
    m_missing->setWordWrap(true);
    m_fetch = new QPushButton(tr("Fetch results"), this);
    m_fetch->setObjectName("inspectorFetch");
    connect(m_fetch, &QPushButton::clicked, this, [this] { Q_EMIT fetchRequested(m_id); });
    m_preview = new QLabel(this);
    m_preview->setAlignment(Qt::AlignCenter);
    m_preview->setAccessibleName(tr("Preview of the result"));
    m_note = new QLabel(this);
    m_note->setObjectName("inspectorNote");
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 6);
    column->addWidget(m_empty, 1);
    column->addWidget(m_facts, 1);
    column->addWidget(m_problem);
    column->addWidget(m_artifacts, 1);
    column->addWidget(m_missing);
    column->addWidget(m_fetch, 0, Qt::AlignLeft);
    column->addWidget(m_note);
    column->addWidget(m_preview);
    column->addStretch(); // a run without results has its facts at the top
    connect(m_artifacts, &QTreeWidget::currentItemChanged, this,
            [this](QTreeWidgetItem* item) { showPreview(item); });
    connect(m_artifacts, &QTreeWidget::itemActivated, this,
            [this](QTreeWidgetItem* item) { openFolderOf(*item); });
    const auto follow = [this](const QString& id) {
        if (id == m_id)
            refreshSoon();
    };
    connect(&m_runs, &RunListModel::runStateChanged, this, follow);
    connect(&m_runs, &RunListModel::runProgressed, this, follow);
    m_refresh.setSingleShot(true);
    connect(&m_refresh, &QTimer::timeout, this, &InspectorPanel::refresh);
    refresh();
}

void InspectorPanel::setRun(const QString& id)
{
    if (m_session != nullptr)
        m_session->client().disconnect(this);
    m_id = id;
    m_artifacts->clear();
    m_shownArtifacts.clear();
    showPreview(nullptr);
    const RunEntry* run = m_runs.find(id);
    m_session = run == nullptr ? nullptr : run->session;
    if (m_session != nullptr) {
        const RunClient* client = &m_session->client();
        connect(client, &RunClient::artifactsChanged, this, &InspectorPanel::refreshSoon);
        connect(client, &RunClient::tableChanged, this, &InspectorPanel::refreshSoon);
    }
    m_refresh.start(0);
}

void InspectorPanel::refreshSoon()
{
    if (!m_refresh.isActive())
        m_refresh.start(kRefreshMs);
}

void InspectorPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (m_isStale)
        refresh();
}

void InspectorPanel::refresh()
{
    m_isStale = !isVisible();
    if (m_isStale)
        return;
    const RunEntry* run = m_runs.find(m_id);
    m_empty->setVisible(run == nullptr);
    m_facts->setVisible(run != nullptr);
    m_problem->setVisible(run != nullptr && !run->problem.isEmpty());
    if (run == nullptr) {
        for (QWidget* part : {static_cast<QWidget*>(m_artifacts), static_cast<QWidget*>(m_missing),
                              static_cast<QWidget*>(m_fetch)})
            part->hide();
        showPreview(nullptr);
        return;
    }
    m_problem->setText(run->problem);
    showFacts(*run);
    showArtifacts(*run);
}

void InspectorPanel::showFacts(const RunEntry& run)
{
    const nlohmann::json manifest = manifestOf(run.folder);
    QString rows = htmlRow(tr("State"), stateText(run));
    rows +=
        htmlRow(tr("Plugin"), (run.plugin + " " + textAt(manifest, "/plugin/version")).trimmed());
    rows += htmlRow(tr("Preset"), run.preset);
    rows += htmlRow(tr("Step"), run.total > 0 ? tr("%L1 of %L2").arg(run.step).arg(run.total)
                                              : QString::number(run.step));
    rows += htmlRow(tr("Seed"), textAt(manifest, "/config/seed"));
    rows += htmlRow(tr("Device"), textAt(manifest, "/device/name").isEmpty()
                                      ? run.device
                                      : textAt(manifest, "/device/name"));
    rows += htmlRow(tr("Host"), run.host);
    rows += htmlRow(tr("Job"), jobText(run));
    rows += htmlRow(tr("Target"), jobText(run).isEmpty() ? run.target() : QString());
    rows += htmlRow(tr("Started"), localTime(textAt(manifest, "/times/start")));
    rows += htmlRow(tr("Duration"), run.seconds ? durationText(*run.seconds) : QString());
    rows += htmlRow(tr("Result"), run.result ? resultText(run.resultOf, *run.result) : QString());
    rows += htmlRow(tr("Exit code"), run.exitCode ? QString::number(*run.exitCode) : QString());
    rows += htmlRow(tr("Continues"), textAt(manifest, "/run/parent"));
    const QString facts =
        "<b>" + run.name.toHtmlEscaped() + "</b><table>" + rows + "</table>" +
        (m_session == nullptr ? QString() : wordTables(m_session->client().tables()));
    if (facts == m_shownFacts)
        return;
    m_shownFacts = facts;
    const int seenFrom = m_facts->verticalScrollBar()->value();
    m_facts->setHtml(facts);
    // Short facts leave their room to the results.
    m_facts->setMaximumHeight(static_cast<int>(std::ceil(m_facts->document()->size().height())) +
                              m_facts->horizontalScrollBar()->sizeHint().height());
    m_facts->verticalScrollBar()->setValue(seenFrom);
}

void InspectorPanel::showArtifacts(const RunEntry& run)
{
    std::vector<nlohmann::json> artifacts;
    if (m_session != nullptr)
        artifacts = m_session->client().artifacts();
    if (artifacts.empty())
        for (const auto& artifact :
             manifestOf(run.folder).value("artifacts", nlohmann::json::array()))
            artifacts.push_back(artifact);
    // What sums the others up comes first.
    std::stable_partition(artifacts.begin(), artifacts.end(), [](const nlohmann::json& artifact) {
        return artifact.value("role", std::string()) == "report";
    });
    m_artifacts->setVisible(!artifacts.empty());
    const std::vector<bool> here = presenceOf(run, artifacts);
    showMissing(run, std::ranges::count(here, false));
    std::string shown = nlohmann::json({artifacts, here}).dump();
    if (shown == m_shownArtifacts) // what is chosen stays
        return;
    m_shownArtifacts = std::move(shown);
    m_artifacts->clear();
    for (std::size_t i = 0; i < artifacts.size(); ++i)
        addArtifact(run, artifacts[i], here[i]);
    showPreview(nullptr);
}

void InspectorPanel::addArtifact(const RunEntry& run, const nlohmann::json& artifact, bool isHere)
{
    const QString path = textAt(artifact, "/path");
    const auto bytes = textAt(artifact, "/bytes").toLongLong();
    const QString size = QLocale().formattedDataSize(bytes, 1, QLocale::DataSizeSIFormat);
    auto* item = new QTreeWidgetItem(m_artifacts, {resultName(artifact), textAt(artifact, "/role"),
                                                   isHere ? size : tr("not fetched yet")});
    item->setData(0, kPathRole,
                  QString::fromStdString((run.folder.root / path.toStdString()).string()));
    item->setToolTip(0, isHere
                            ? tr("%1\nDouble click opens the folder.").arg(path)
                            : tr("%1\n%2 on %3, not fetched yet.").arg(path, size, run.target()));
}

void InspectorPanel::showMissing(const RunEntry& run, std::ptrdiff_t count)
{
    m_missing->setText(
        count == 1 ? tr("1 result is on %1, not fetched yet.").arg(run.target())
                   : tr("%1 results are on %2, not fetched yet.").arg(count).arg(run.target()));
    m_missing->setVisible(count > 0);
    m_fetch->setVisible(count > 0);
}

void InspectorPanel::openFolderOf(const QTreeWidgetItem& item)
{
    QString folder = QFileInfo(item.data(0, kPathRole).toString()).absolutePath();
    if (const RunEntry* run = m_runs.find(m_id); run != nullptr && !QFileInfo::exists(folder))
        folder = QString::fromStdString(run->folder.root.string()); // of what is not fetched yet
    const bool isOpen = QDesktopServices::openUrl(QUrl::fromLocalFile(folder));
    m_note->setVisible(!isOpen);
    if (!isOpen)
        m_note->setText(
            tr("No program of this desktop opens folders. The result is in %1").arg(folder));
}

void InspectorPanel::showPreview(QTreeWidgetItem* item)
{
    m_note->hide();
    m_preview->hide();
    if (item == nullptr)
        return;
    QImageReader reader(item->data(0, kPathRole).toString());
    if (!reader.canRead())
        return;
    const QSize full = reader.size();
    if (full.isValid() &&
        (full.width() > kPreviewSize.width() || full.height() > kPreviewSize.height()))
        reader.setScaledSize(full.scaled(kPreviewSize, Qt::KeepAspectRatio));
    const QImage image = reader.read();
    if (image.isNull())
        return;
    m_preview->setPixmap(QPixmap::fromImage(image.scaled(kPreviewSize, Qt::KeepAspectRatio)));
    m_preview->show();
}

} // namespace vergence
