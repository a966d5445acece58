#include "app/shell/plugin_manager.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "app/style/theme.h"

namespace vergence {

namespace {

QString joined(const std::vector<std::string>& texts)
{
    QStringList list;
    for (const std::string& text : texts)
        list << QString::fromStdString(text);
    return list.join(", ");
}

QString apiText(const PluginDescriptor& plugin)
{
    return plugin.apiMin == plugin.apiMax ? QString::number(plugin.apiMin)
                                          : QString("%1–%2").arg(plugin.apiMin).arg(plugin.apiMax);
}

QString detailRow(const QString& name, const std::string& value)
{
    return value.empty() ? QString()
                         : QString("<tr><td style='padding-right:12px'>%1</td><td>%2</td></tr>")
                               .arg(name, QString::fromStdString(value).toHtmlEscaped());
}

QString detailsOf(const PluginInfo& plugin)
{
    const PluginDescriptor& d = plugin.descriptor;
    QString rows = detailRow(PluginManager::tr("Summary"), d.summary);
    rows += detailRow(PluginManager::tr("Vendor"), d.vendor) +
            detailRow(PluginManager::tr("Licence"), d.license);
    rows += detailRow(PluginManager::tr("Site"), d.url);
    rows += detailRow(PluginManager::tr("Needs"), joined(d.requirements).toStdString());
    rows += detailRow(PluginManager::tr("Literature"), joined(d.literature).toStdString());
    rows += detailRow(PluginManager::tr("Built with"),
                      d.abi.empty() ? "" : d.abi + ", Qt " + d.qt + ", " + d.build);
    rows += detailRow(PluginManager::tr("File"), d.path.string());
    rows += detailRow(PluginManager::tr("Why not"), d.reason);
    rows += detailRow(PluginManager::tr("Details"), d.details);
    return "<b>" + plugin.title().toHtmlEscaped() + "</b><table>" + rows + "</table>";
}

} // namespace

PluginManager::PluginManager(ProbeCatalog& catalog, QWidget* parent)
    : QDialog(parent),
      m_catalog(catalog)
{
    setObjectName("pluginManager");
    setWindowTitle(tr("Plugin manager"));
    resize(980, 560);
    m_table = new QTreeWidget(this);
    m_table->setObjectName("pluginTable");
    m_table->setAccessibleName(tr("Plugins"));
    m_table->setRootIsDecorated(false);
    m_table->setHeaderLabels({tr("Name"), tr("Version"), tr("API"), tr("State"), tr("Why")});
    const int widths[] = {210, 70, 50, 100};
    for (int column = 0; column < 4; ++column)
        m_table->header()->resizeSection(column, widths[column]);
    m_details = new QLabel(this);
    m_details->setObjectName("pluginDetails");
    m_details->setWordWrap(true);
    m_details->setAlignment(Qt::AlignTop);
    m_details->setMargin(6);
    m_details->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setWidget(m_details);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->addWidget(m_table);
    splitter->addWidget(area);
    splitter->setSizes({280, 220});
    auto* column = new QVBoxLayout(this);
    column->addWidget(splitter, 1);
    column->addWidget(makeButtons());
    connect(&catalog, &ProbeCatalog::completed, this, &PluginManager::fill);
    connect(m_table, &QTreeWidget::currentItemChanged, this, &PluginManager::showDetails);
    fill();
}

QWidget* PluginManager::makeButtons()
{
    auto* box = new QWidget(this);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    const auto add = [&](const QString& text, const char* name) {
        auto* button = new QPushButton(text, box);
        button->setObjectName(name);
        button->setAutoDefault(false);
        row->addWidget(button);
        return button;
    };
    m_enable = add(tr("Disable"), "pluginEnable");
    m_release = add(tr("Clear quarantine"), "pluginRelease");
    m_folder = add(tr("Open folder"), "pluginFolder");
    m_copy = add(tr("Copy report"), "pluginCopy");
    auto* recheck = add(tr("Re-check"), "pluginRecheck");
    row->addStretch();
    auto* close = add(tr("Close"), "pluginClose");
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
    connect(recheck, &QPushButton::clicked, &m_catalog, &ProbeCatalog::scan);
    connect(m_enable, &QPushButton::clicked, this, [this] {
        if (const PluginInfo* plugin = current())
            m_catalog.setEnabled(plugin->id(), plugin->descriptor.state == PluginState::Disabled);
    });
    connect(m_release, &QPushButton::clicked, this, [this] {
        if (const PluginInfo* plugin = current())
            m_catalog.clearQuarantine(plugin->descriptor);
    });
    connect(m_folder, &QPushButton::clicked, this, [this] {
        if (const PluginInfo* plugin = current())
            QDesktopServices::openUrl(QUrl::fromLocalFile(
                QString::fromStdString(plugin->descriptor.path.parent_path().string())));
    });
    connect(m_copy, &QPushButton::clicked, this, [this] {
        if (const PluginInfo* plugin = current())
            QGuiApplication::clipboard()->setText(
                QString::fromStdString(toJson(plugin->descriptor).dump(2)));
    });
    return box;
}

void PluginManager::fill()
{
    const int row = std::max(0, m_table->indexOfTopLevelItem(m_table->currentItem()));
    m_table->clear();
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        const PluginDescriptor& d = plugin.descriptor;
        const QString state = QString::fromStdString(nameOf(d.state));
        auto* item =
            new QTreeWidgetItem(m_table, {plugin.title(), QString::fromStdString(d.version),
                                          d.apiMax > 0 ? apiText(d) : QString(), state,
                                          QString::fromStdString(d.reason)});
        item->setToolTip(4, QString::fromStdString(d.reason));
        if (d.state != PluginState::Ready)
            item->setForeground(3,
                                d.state == PluginState::Disabled || d.state == PluginState::Shadowed
                                    ? mutedColour(palette())
                                    : warningColour(palette()));
    }
    if (m_table->topLevelItemCount() > 0)
        m_table->setCurrentItem(
            m_table->topLevelItem(std::min(row, m_table->topLevelItemCount() - 1)));
    showDetails();
}

const PluginInfo* PluginManager::current() const
{
    const int row = m_table->indexOfTopLevelItem(m_table->currentItem());
    const auto& plugins = m_catalog.plugins();
    return row >= 0 && row < static_cast<int>(plugins.size())
               ? &plugins[static_cast<std::size_t>(row)]
               : nullptr;
}

void PluginManager::showDetails()
{
    const PluginInfo* plugin = current();
    for (QPushButton* button : {m_enable, m_release, m_folder, m_copy})
        button->setEnabled(plugin != nullptr);
    if (plugin == nullptr) {
        m_details->setText(m_catalog.isComplete() ? tr("No plugin files were found.")
                                                  : tr("Looking for plugins…"));
        return;
    }
    const PluginState state = plugin->descriptor.state;
    m_details->setText(detailsOf(*plugin));
    m_enable->setText(state == PluginState::Disabled ? tr("Enable") : tr("Disable"));
    m_enable->setEnabled(!plugin->id().isEmpty() &&
                         (state == PluginState::Ready || state == PluginState::Disabled ||
                          state == PluginState::Needs));
    m_enable->setToolTip(tr("Takes effect with the next run."));
    m_release->setEnabled(state == PluginState::Quarantined);
}

} // namespace vergence
