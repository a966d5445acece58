#include "app/shell/setup_panel.h"

#include <QComboBox>
#include <QDesktopServices>
#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QUrl>
#include <QVBoxLayout>

#include "app/forms/form_combo.h"

namespace vergence {

SetupPanel::SetupPanel(ProbeCatalog& catalog, QWidget* parent) : QWidget(parent), m_catalog(catalog)
{
    m_strip = new StageStrip(this);
    m_note = new QLabel(this);
    m_note->setWordWrap(true);
    m_note->setAlignment(Qt::AlignCenter);
    m_dataCard = new DataCard(this);
    m_form = new ConfigForm(this);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addWidget(m_strip);
    column->addWidget(makeHeader());
    column->addWidget(m_dataCard);
    column->addWidget(m_note, 1);
    column->addWidget(m_form, 1);
    connect(m_dataCard, &DataCard::actionRequested, this, &SetupPanel::act);
    connect(&catalog, &ProbeCatalog::completed, this, &SetupPanel::takeCatalog);
    takeCatalog();
}

QWidget* SetupPanel::makeHeader()
{
    auto* header = new QWidget(this);
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(0, 0, 0, 0);
    auto* label = new QLabel(tr("&Plugin"), header);
    m_plugins = new FormCombo(header); // the wheel must not change the plugin in passing
    m_plugins->setObjectName("pluginCombo");
    m_plugins->setAccessibleName(tr("Plugin"));
    m_plugins->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    label->setBuddy(m_plugins);
    row->addWidget(label);
    row->addWidget(m_plugins, 1);
    connect(m_plugins, &QComboBox::activated, this,
            [this](int index) { choose(m_plugins->itemData(index).toString(), {}); });
    return header;
}

void SetupPanel::takeCatalog()
{
    const QSignalBlocker quiet(m_plugins);
    m_plugins->clear();
    for (const PluginInfo& plugin : m_catalog.plugins())
        if (plugin.isUsable())
            m_plugins->addItem(plugin.title(), plugin.id());
    const bool isEmpty = m_plugins->count() == 0;
    m_note->setText(m_catalog.isComplete()
                        ? tr("No plugin is ready. Plugins → Plugin manager says why.")
                        : tr("Looking for plugins…"));
    m_note->setVisible(isEmpty);
    m_form->setVisible(!isEmpty);
    m_plugins->setEnabled(!isEmpty);
    if (isEmpty)
        return;
    if (m_plugin.isEmpty() || m_catalog.find(m_plugin) == nullptr) {
        const auto demos = m_catalog.demoPlugins();
        choose(demos.empty() ? m_plugins->itemData(0).toString() : demos.front()->id(), {});
    }
    m_plugins->setCurrentIndex(m_plugins->findData(m_plugin));
}

bool SetupPanel::choose(const QString& plugin, const QString& preset)
{
    const PluginInfo* info = m_catalog.find(plugin);
    if (info == nullptr)
        return false;
    if (plugin != m_plugin) {
        m_plugin = plugin;
        showData({});
        m_form->setSchema(*info->schema, info->presets);
        m_plugins->setCurrentIndex(m_plugins->findData(plugin));
        Q_EMIT pluginChosen(plugin);
    }
    const QString first = info->presets.empty() ? QString() : info->presets.front().name;
    m_form->applyPreset(preset.isEmpty() ? first : preset);
    return true;
}

std::vector<ConfigIssue> SetupPanel::loadToml(const std::string& toml, const QString& source,
                                              const QString& plugin)
{
    const ConfigHeader header = readConfigHeader(toml, source.toStdString());
    const QString named = QString::fromStdString(header.plugin);
    const QString wanted = !named.isEmpty() ? named : plugin.isEmpty() ? m_plugin : plugin;
    if (!choose(wanted, QString::fromStdString(header.preset))) {
        ConfigIssue issue;
        issue.rule = "unknown_plugin";
        issue.sentence = "The plugin `" + wanted.toStdString() + "` is not ready on this computer.";
        issue.place.source = source.toStdString();
        return {issue};
    }
    return m_form->loadToml(toml, source.toStdString());
}

void SetupPanel::take(const FolderTaker& taker, const QString& folder)
{
    const PluginInfo* info = m_catalog.find(taker.plugin);
    if (info == nullptr)
        return;
    const QString preset = QString::fromStdString(taker.kind.preset);
    const bool isAtDemo =
        m_form->presetName().toStdString() == info->descriptor.demo && !m_form->isPresetModified();
    if (taker.plugin != m_plugin || isAtDemo)
        choose(taker.plugin, info->preset(preset) == nullptr ? QString() : preset);
    QStringList assignments{QString::fromStdString(taker.kind.key) + '=' + folder};
    for (const std::string& further : taker.kind.set)
        assignments << QString::fromStdString(further);
    m_form->assign(assignments, tr("Data %1").arg(QDir(folder).dirName()));
}

bool SetupPanel::holds(const FolderTaker& taker, const QString& folder) const
{
    return taker.plugin == m_plugin &&
           m_form->fieldText(QString::fromStdString(taker.kind.key)) == folder;
}

void SetupPanel::showData(const DataReport& report)
{
    m_data = report;
    m_dataCard->showReport(report);
}

void SetupPanel::act(const QString& action)
{
    const QString key = QString::fromStdString(m_data.key);
    if (action == "continue_without") {
        m_form->assign({QString::fromStdString(m_data.remedy)}, tr("Continue without"));
    } else if (action == "choose_folder") {
        m_form->focusField(key);
    } else if (action == "problems") {
        Q_EMIT problemsRequested();
    } else if (action == "open_file") {
        for (const ConfigIssue& issue : m_data.issues)
            if (issue.severity == IssueSeverity::Error && issue.place.line > 0) {
                const QDir folder(m_form->fieldText(key));
                const QString file = QString::fromStdString(issue.place.source);
                QDesktopServices::openUrl(QUrl::fromLocalFile(folder.filePath(file)));
                return;
            }
    }
}

RunDraft SetupPanel::draft() const
{
    const QString preset = m_form->presetName();
    const PluginInfo* info = m_catalog.find(m_plugin);
    const FormPreset* known = info == nullptr ? nullptr : info->preset(preset);
    return {m_plugin, preset, m_form->flags(), known == nullptr ? QString() : known->file};
}

std::string SetupPanel::tomlWithHeader() const
{
    return withPluginHeader(m_form->toml(), m_plugin);
}

void SetupPanel::reloadPresets(const QString& chosen)
{
    m_catalog.reloadUserPresets();
    const PluginInfo* info = m_catalog.find(m_plugin);
    if (info == nullptr)
        return;
    m_form->setPresets(info->presets, chosen);
}

} // namespace vergence
