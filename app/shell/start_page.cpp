#include "app/shell/start_page.h"

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "app/style/design.h"
#include "app/style/icons.h"

namespace vergence {

namespace {

constexpr int kRecentRuns = 4;
constexpr int kColumnWidth = 720;

QLabel* textLine(const char* name, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setTextFormat(Qt::RichText);
    label->setTextInteractionFlags(Qt::TextBrowserInteraction);
    return label;
}

} // namespace

StartPage::StartPage(ProbeCatalog& catalog, RunListModel& runs, QWidget* parent)
    : QWidget(parent),
      m_catalog(catalog),
      m_runs(runs)
{
    setObjectName("startPage");
    auto* content = new QWidget;
    content->setMaximumWidth(kColumnWidth);
    auto* title = design::label(tr("Vergence Studio %1").arg(VERGENCE_VERSION),
                                design::Type::Page, content);
    auto* question = new QLabel(tr("What would you like to do?"), content);
    auto* column = new QVBoxLayout(content);
    column->setSpacing(6);
    column->addStretch(1);
    column->addWidget(title);
    column->addWidget(question);
    column->addWidget(makeButtons());
    column->addWidget(makeFacts());
    column->addStretch(2);
    auto* middle = new QWidget;
    auto* row = new QHBoxLayout(middle);
    row->addStretch(1);
    row->addWidget(content, 100);
    row->addStretch(1);
    auto* area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setWidget(middle);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(area);
    connect(&catalog, &ProbeCatalog::completed, this, &StartPage::showPlugins);
    connect(&runs, &RunListModel::scanFinished, this, &StartPage::showRecent);
    connect(&runs, &RunListModel::runStateChanged, this, &StartPage::showRecent);
    showPlugins();
    showRecent();
}

QWidget* StartPage::makeButtons()
{
    auto* box = new QWidget(this);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 8, 0, 8);
    m_demo = new QPushButton(box);
    m_demo->setObjectName("demoButton");
    m_demo->setDefault(true);
    m_demo->setAutoDefault(true);
    m_demo->setIcon(tintedIcon("start", palette()));
    m_demo->setMinimumHeight(48);
    QFont font = m_demo->font();
    font.setPointSizeF(font.pointSizeF() * 1.2);
    m_demo->setFont(font);
    m_demoNote = new QLabel(box);
    m_demoNote->setWordWrap(true);
    auto* row = new QHBoxLayout;
    auto* newRun = new QPushButton(tr("New run from a preset…"), box);
    newRun->setObjectName("newRunButton");
    auto* open = new QPushButton(tr("Open a run or configuration…"), box);
    open->setObjectName("openButton");
    row->addWidget(newRun);
    row->addWidget(open);
    row->addStretch();
    m_furtherDemos = new QVBoxLayout;
    column->addWidget(m_demo);
    column->addLayout(m_furtherDemos);
    column->addWidget(m_demoNote);
    column->addLayout(row);
    auto* hint =
        new QLabel(tr("… or drop data, a configuration file or a run folder anywhere."), box);
    hint->setWordWrap(true);
    column->addWidget(hint);
    connect(m_demo, &QPushButton::clicked, this,
            [this] { Q_EMIT demoRequested(m_demoPlugins.value(0)); });
    connect(newRun, &QPushButton::clicked, this, &StartPage::newRunRequested);
    connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
    return box;
}

QWidget* StartPage::makeFacts()
{
    auto* box = new QWidget(this);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    m_recent = textLine("recentLine", box);
    m_computer = textLine("computerLine", box);
    m_plugins = textLine("pluginLine", box);
    column->addWidget(design::label(tr("Recent runs"), design::Type::Section, box));
    column->addWidget(m_recent);
    column->addSpacing(4);
    column->addWidget(design::label(tr("This computer"), design::Type::Section, box));
    column->addWidget(m_computer);
    column->addSpacing(4);
    column->addWidget(design::label(tr("Plugins"), design::Type::Section, box));
    column->addWidget(m_plugins);
    m_computer->setText(tr("Looking…"));
    connect(m_recent, &QLabel::linkActivated, this, &StartPage::runRequested);
    connect(m_computer, &QLabel::linkActivated, this, &StartPage::devicesRequested);
    connect(m_plugins, &QLabel::linkActivated, this, &StartPage::pluginManagerRequested);
    return box;
}

void StartPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || m_furtherDemos == nullptr)
        return;
    m_demo->setIcon(tintedIcon("start", palette()));
    for (int i = 0; i < m_furtherDemos->count(); ++i)
        static_cast<QPushButton*>(m_furtherDemos->itemAt(i)->widget())->setIcon(m_demo->icon());
}

void StartPage::setComputer(const QString& text)
{
    const QString line = text.toHtmlEscaped() + "  <a href=\"devices\">" + tr("Details") + "</a>";
    if (m_computer->text() != line)
        m_computer->setText(line);
}

void StartPage::showPlugins()
{
    int ready = 0, needs = 0, refused = 0;
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        const PluginState state = plugin.descriptor.state;
        ready += state == PluginState::Ready ? 1 : 0;
        needs += state == PluginState::Needs ? 1 : 0;
        refused += state == PluginState::Refused || state == PluginState::Quarantined ? 1 : 0;
    }
    QString text = m_catalog.isComplete() ? tr("%1 ready").arg(ready) : tr("Looking for plugins…");
    if (needs > 0)
        text += tr(", %1 for hardware that is not here").arg(needs);
    if (refused > 0)
        text += tr(", %1 refused").arg(refused);
    if (m_catalog.isComplete())
        text +=
            "  <a href=\"plugins\">" + (needs + refused > 0 ? tr("why?") : tr("Details")) + "</a>";
    m_plugins->setText(text);
    showDemos();
}

/// One button for each lab that has a demo; the first is the large one.
void StartPage::showDemos()
{
    const auto demos = m_catalog.demoPlugins();
    QStringList plugins;
    for (const PluginInfo* plugin : demos)
        plugins << plugin->id();
    const bool isAlone = demos.size() < 2;
    m_demo->setText(isAlone ? tr("Run the demo – 30 s, works on this computer's CPU")
                            : tr("Run the demo: %1").arg(demos.front()->title()));
    const bool isNewlyReady = !m_demo->isEnabled() && !demos.empty();
    m_demo->setEnabled(!demos.empty());
    if (isNewlyReady)
        m_demo->setFocus(); // Enter starts it
    const QString hint = tr("Each demo needs no GPU and ends within about a minute.");
    m_demoNote->setVisible(demos.empty() || !isAlone);
    m_demoNote->setText(!demos.empty() ? hint
                        : m_catalog.isComplete()
                            ? tr("No plugin with a demo is ready; the plugin line below says why.")
                            : tr("The button is ready as soon as the plugins have answered."));
    if (plugins == m_demoPlugins)
        return;
    m_demoPlugins = plugins;
    while (QLayoutItem* item = m_furtherDemos->takeAt(0)) {
        item->widget()->deleteLater();
        delete item;
    }
    for (std::size_t i = 1; i < demos.size(); ++i) {
        auto* button = new QPushButton(tr("Run the demo: %1").arg(demos[i]->title()), this);
        button->setObjectName("demoButton/" + demos[i]->id());
        button->setIcon(tintedIcon("start", palette()));
        button->setMinimumHeight(36);
        connect(button, &QPushButton::clicked, this,
                [this, id = demos[i]->id()] { Q_EMIT demoRequested(id); });
        m_furtherDemos->addWidget(button);
    }
}

void StartPage::showRecent()
{
    QStringList lines;
    for (int row = 0; row < m_runs.rowCount() && lines.size() < kRecentRuns; ++row) {
        const RunEntry& run = m_runs.entry(row);
        if (!run.isLoaded)
            continue;
        lines << QString("<a href=\"%1\">%2</a>  %3")
                     .arg(run.id.toHtmlEscaped(), run.name.toHtmlEscaped(),
                          stateText(run).toHtmlEscaped());
    }
    m_recent->setText(
        lines.isEmpty() ? tr("None yet. Runs are kept in %1.").arg(m_runs.folder().toHtmlEscaped())
                        : lines.join("<br>"));
}

} // namespace vergence
