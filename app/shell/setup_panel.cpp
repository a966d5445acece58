#include "app/shell/setup_panel.h"

#include <QComboBox>
#include <QDesktopServices>
#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QUrl>
#include <QVBoxLayout>

#include "app/forms/form_combo.h"
#include "app/shell/target_choice.h"
#include "core/config/nearest.h"

namespace vergence {

namespace {

ConfigIssue headerIssue(const char* rule, const QString& sentence, const QString& source)
{
    ConfigIssue issue;
    issue.rule = rule;
    issue.sentence = sentence.toStdString();
    issue.place.source = source.toStdString();
    return issue;
}

QString noPreset(const PluginInfo& plugin, const QString& name)
{
    std::vector<std::string> names;
    for (const FormPreset& preset : plugin.presets)
        names.push_back(preset.name.toStdString());
    const std::string meant = detail::nearestOf(name.toStdString(), names);
    const QString sentence = SetupPanel::tr("%1 has no preset `%2`.").arg(plugin.title(), name);
    return meant.empty()
               ? sentence
               : sentence + ' ' +
                     SetupPanel::tr("Did you mean `%1`?").arg(QString::fromStdString(meant));
}

} // namespace

SetupPanel::SetupPanel(ProbeCatalog& catalog, QWidget* parent) : QWidget(parent), m_catalog(catalog)
{
    m_strip = new StageStrip(this);
    m_note = new QLabel(this);
    m_note->setWordWrap(true);
    m_note->setAlignment(Qt::AlignCenter);
    m_dataCard = new DataCard(this);
    m_form = new ConfigForm(this);
    m_place = new TargetChoice(m_form);
    m_form->addToFooter(m_place);
    connect(m_place, &TargetChoice::targetsRequested, this, &SetupPanel::targetsRequested);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addWidget(m_strip);
    column->addWidget(makeHeader());
    column->addWidget(m_dataCard);
    column->addWidget(m_note, 1);
    column->addWidget(m_form, 1);
    connect(m_dataCard, &DataCard::actionRequested, this, &SetupPanel::act);
    connect(m_form, &ConfigForm::edited, this, &SetupPanel::dropOldData);
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

QString SetupPanel::pluginOf(const ConfigHeader& header, const QString& plugin) const
{
    if (!header.plugin.empty())
        return QString::fromStdString(header.plugin);
    return plugin.isEmpty() ? m_plugin : plugin;
}

std::vector<ConfigIssue> SetupPanel::issuesIn(const std::string& toml, const QString& source,
                                              const QString& plugin) const
{
    const ConfigHeader header = readConfigHeader(toml, source.toStdString());
    const QString wanted = pluginOf(header, plugin);
    const PluginInfo* info = m_catalog.find(wanted);
    if (info == nullptr || !info->isUsable()) {
        std::vector<ConfigIssue> issues = header.issues;
        issues.push_back(
            headerIssue("unknown_plugin",
                        tr("The plugin `%1` is not ready on this computer.").arg(wanted), source));
        return issues;
    }
    ConfigBuilder builder(*info->schema);
    const QString preset = QString::fromStdString(header.preset);
    if (!preset.isEmpty() && info->preset(preset) == nullptr)
        builder.addIssue(headerIssue("unknown_preset", noPreset(*info, preset), source));
    builder.addToml(toml, source.toStdString());
    return builder.build().issues;
}

std::vector<ConfigIssue> SetupPanel::loadToml(const std::string& toml, const QString& source,
                                              const QString& plugin)
{
    const auto issues = issuesIn(toml, source, plugin);
    if (hasErrors(issues))
        return issues;
    const ConfigHeader header = readConfigHeader(toml, source.toStdString());
    clearRefusal();
    choose(pluginOf(header, plugin), QString::fromStdString(header.preset));
    m_form->loadToml(toml, source.toStdString());
    return issues;
}

void SetupPanel::refuse(const CardContent& card)
{
    clearRefusal();
    m_refusal = new ErrorCard(card, this);
    static_cast<QVBoxLayout*>(layout())->insertWidget(1, m_refusal); // below the strip
    m_refusal->show();
    connect(m_refusal, &ErrorCard::dismissed, this, &SetupPanel::clearRefusal);
    connect(m_refusal, &ErrorCard::actionRequested, this, [this](const QString& action) {
        action == "targets" ? Q_EMIT targetsRequested() : Q_EMIT problemsRequested();
    });
}

void SetupPanel::clearRefusal()
{
    if (m_refusal == nullptr)
        return;
    m_refusal->hide(); // at once; it may be the one whose button was pressed
    m_refusal->deleteLater();
    m_refusal = nullptr;
}

void SetupPanel::take(const FolderTaker& taker, const QString& folder)
{
    const PluginInfo* info = m_catalog.find(taker.plugin);
    if (info == nullptr)
        return;
    clearRefusal();
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

/// A draft that names other data is not that whose data were looked at.
void SetupPanel::dropOldData()
{
    if (!m_data.key.empty() && m_form->fieldText(QString::fromStdString(m_data.key)) != m_dataValue)
        showData({});
}

void SetupPanel::showData(const DataReport& report)
{
    m_data = report;
    m_dataValue = m_form->fieldText(QString::fromStdString(report.key));
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
