#include "app/forms/config_form.h"

#include <algorithm>

#include <QKeyEvent>
#include <QLineEdit>

#include "app/forms/field_row.h"
#include "app/forms/form_footer.h"
#include "app/forms/form_impl.h"
#include "app/forms/preset_bar.h"

namespace vergence {
namespace {

enum class FormKey { None, Undo, Redo, Start, Queue, Find };

FormKey formKey(const QKeyEvent* event)
{
    if (event->matches(QKeySequence::Undo))
        return FormKey::Undo;
    if (event->matches(QKeySequence::Redo))
        return FormKey::Redo;
    if (event->matches(QKeySequence::Find))
        return FormKey::Find;
    if (event->key() == Qt::Key_R && event->modifiers() == Qt::ControlModifier)
        return FormKey::Start;
    if (event->key() == Qt::Key_R &&
        event->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier))
        return FormKey::Queue;
    return FormKey::None;
}

/// Checked here at every keystroke, so an older report of the same rule has nothing to add.
bool isReported(const std::vector<ConfigIssue>& issues, const ConfigIssue& issue)
{
    return std::any_of(issues.begin(), issues.end(), [&](const ConfigIssue& other) {
        return other.key == issue.key &&
               (other.rule == issue.rule || other.sentence == issue.sentence);
    });
}

} // namespace

QString ownPresetName(const QString& shipped)
{
    return ConfigForm::tr("%1 mine").arg(shipped);
}

ConfigForm::Impl::Impl(ConfigForm* owner) : form(owner)
{
    buildFrame();
    connectPresetBar();
}

void ConfigForm::Impl::change(const QString& text, DraftChange after)
{
    DraftChange before{{}, preset};
    for (const auto& [key, state] : after.fields)
        before.fields[key] = draft.state(key);
    undo.push(new DraftCommand(text, std::move(before), std::move(after),
                               [this](const DraftChange& step) { apply(step); }));
}

void ConfigForm::Impl::apply(const DraftChange& step)
{
    std::vector<const Field*> live;
    for (const auto& [key, state] : step.fields) {
        const Field* field = draft.schema().find(key);
        if (field->isLive && isFrozen && state.isValid() && state != draft.state(key))
            live.push_back(field);
    }
    show(step);
    const auto wrong = issues();
    for (const Field* field : live) {
        const bool isWrong = std::any_of(wrong.begin(), wrong.end(), [&](const ConfigIssue& issue) {
            return issue.key == field->key && issue.severity == IssueSeverity::Error;
        });
        if (!isWrong)
            Q_EMIT form->liveChanged(QString::fromStdString(field->key),
                                     QString::fromStdString(toToml(draft.state(field->key).value)));
    }
}

void ConfigForm::Impl::show(const DraftChange& step)
{
    for (const auto& [key, state] : step.fields) {
        draft.setState(key, state);
        std::erase_if(externalIssues, [&](const ConfigIssue& issue) { return issue.key == key; });
        refreshRow(*draft.schema().find(key));
    }
    if (pendingKey.empty() || step.fields.contains(pendingKey))
        pendingKey.clear();
    if (step.preset != preset)
        usePresetValues(step.preset);
    refreshVisibility();
    refreshIssues();
    Q_EMIT form->edited();
}

void ConfigForm::Impl::commit(const Field& field, const FieldState& state)
{
    if (!rows.contains(field.key))
        return;
    if (pendingKey == field.key)
        pendingKey.clear();
    if (state == draft.state(field.key)) { // "10k" over 10000: only the spelling changes
        refreshRow(field);
        refreshIssues();
        return;
    }
    loadIssues.clear();
    change(
        tr("Change %1").arg(QString::fromStdString(field.title.empty() ? field.key : field.title)),
        {{{field.key, state}}, preset});
}

void ConfigForm::Impl::commitFocused()
{
    for (const auto& [key, row] : rows)
        row->editor().commit();
}

DraftChange ConfigForm::Impl::changeTo(const Config& config, const QString& name) const
{
    DraftChange after{{}, name};
    for (const Field& field : draft.schema().fields()) {
        FieldState state{config.value(field.key), {}, {}};
        if (state != draft.state(field.key))
            after.fields[field.key] = std::move(state);
    }
    return after;
}

const FormPreset* ConfigForm::Impl::findPreset(const QString& name) const
{
    const auto at = std::find_if(presets.begin(), presets.end(),
                                 [&](const FormPreset& one) { return one.name == name; });
    return at == presets.end() ? nullptr : &*at;
}

bool ConfigForm::Impl::isShipped() const
{
    const FormPreset* found = findPreset(preset);
    return found != nullptr && !found->isUserPreset;
}

QStringList ConfigForm::Impl::flagsAgainst(const Config& base) const
{
    QStringList flags;
    for (const ConfigDifference& row : difference(base, draft.config()))
        flags.append(QString::fromStdString(row.key + "=" + row.b));
    return flags;
}

void ConfigForm::Impl::usePresetValues(const QString& name)
{
    const FormPreset* found = findPreset(name);
    preset = found == nullptr ? QString() : name;
    presetConfig = draft
                       .read(found == nullptr ? std::string() : found->toml.toStdString(),
                             "preset " + preset.toStdString())
                       .config;
    if (!presetConfig)
        presetConfig = draft.read({}, {}).config;
}

std::vector<ConfigIssue> ConfigForm::Impl::issues() const
{
    const std::vector<ConfigIssue> local = draft.issues(pendingKey, pending);
    std::vector<ConfigIssue> found = local;
    for (const ConfigIssue& issue : externalIssues)
        if (!isReported(local, issue))
            found.push_back(issue);
    found.insert(found.end(), loadIssues.begin(), loadIssues.end());
    std::stable_sort(found.begin(), found.end(), [](const ConfigIssue& a, const ConfigIssue& b) {
        return a.severity < b.severity;
    });
    return found;
}

int ConfigForm::Impl::changedCount() const
{
    const auto& fields = draft.schema().fields();
    return static_cast<int>(std::count_if(fields.begin(), fields.end(), [&](const Field& field) {
        return draft.differsFromDefault(field);
    }));
}

void ConfigForm::Impl::start()
{
    commitFocused();
    if (footer->canStart())
        Q_EMIT form->startRequested();
}

void ConfigForm::Impl::queue()
{
    commitFocused();
    if (footer->canQueue())
        Q_EMIT form->queueRequested();
}

ConfigForm::ConfigForm(QWidget* parent) : QWidget(parent), m_impl(std::make_unique<Impl>(this))
{
    setObjectName(QStringLiteral("configForm"));
    setAccessibleName(tr("Settings of the run"));
    setSchema({}, {});
}

ConfigForm::~ConfigForm()
{
    m_impl
        ->clearRows(); // a line that loses the focus while it is destroyed must find nobody to tell
}

void ConfigForm::setSchema(const ConfigSchema& schema, const std::vector<FormPreset>& presets)
{
    m_impl->clearRows();
    m_impl->undo.clear();
    m_impl->draft = Draft(schema);
    m_impl->presets = presets;
    m_impl->loadIssues.clear();
    m_impl->externalIssues.clear();
    m_impl->pendingKey.clear();
    m_impl->revealed.clear();
    m_impl->bar->setPresets(presets);
    m_impl->usePresetValues({});
    m_impl->buildRows();
    for (const Field& field : schema.fields())
        m_impl->refreshRow(field);
    m_impl->refreshVisibility();
    m_impl->refreshIssues();
}

void ConfigForm::setPresets(const std::vector<FormPreset>& presets, const QString& chosen)
{
    m_impl->presets = presets;
    m_impl->bar->setPresets(presets);
    m_impl->usePresetValues(chosen);
    m_impl->refreshIssues();
}

void ConfigForm::applyPreset(const QString& name)
{
    const FormPreset* found = m_impl->findPreset(name);
    expects(found != nullptr || name.isEmpty(), "form: there is no preset " + name.toStdString());
    commitPending(); // else it would outlast the preset, and be taken for an edit of it
    m_impl->loadIssues.clear();
    m_impl->externalIssues.clear();
    const std::string toml = found == nullptr ? std::string() : found->toml.toStdString();
    auto reading = m_impl->draft.read(toml, "preset " + name.toStdString());
    m_impl->loadIssues = reading.issues;
    if (!reading.config) {
        m_impl->refreshIssues();
        return;
    }
    m_impl->change(tr("Preset %1").arg(m_impl->bar->titleOf(name)),
                   m_impl->changeTo(*reading.config, name));
}

QString ConfigForm::presetName() const
{
    return m_impl->preset;
}

bool ConfigForm::isPresetModified() const
{
    const auto& states = m_impl->draft.states();
    return std::any_of(states.begin(), states.end(), [&](const auto& entry) {
        return !entry.second.isValid() ||
               (m_impl->presetConfig &&
                entry.second.value != m_impl->presetConfig->value(entry.first));
    });
}

std::vector<ConfigIssue> ConfigForm::loadToml(const std::string& toml, const std::string& source)
{
    const QString named = QString::fromStdString(readConfigHeader(toml, source).preset);
    const FormPreset* preset = m_impl->findPreset(named);
    auto reading = m_impl->draft.readWhole(
        toml, source, preset == nullptr ? std::string() : preset->toml.toStdString());
    if (!reading.config)
        return reading.issues;
    m_impl->externalIssues.clear();
    m_impl->loadIssues.clear();
    m_impl->change(tr("Load %1").arg(QString::fromStdString(source)),
                   m_impl->changeTo(*reading.config, preset == nullptr ? QString() : named));
    return reading.issues;
}

std::string ConfigForm::toml() const
{
    return emitToml(m_impl->draft.config(),
                    m_impl->isShipped() ? m_impl->preset.toStdString() : std::string());
}

void ConfigForm::commitPending()
{
    m_impl->commitFocused();
}

QStringList ConfigForm::flags() const
{
    return m_impl->presetConfig ? m_impl->flagsAgainst(*m_impl->presetConfig) : QStringList();
}

QString ConfigForm::fieldText(const QString& key) const
{
    const auto at = m_impl->draft.states().find(key.toStdString());
    if (at == m_impl->draft.states().end())
        return {};
    return at->second.isValid() ? editorText(at->second.value) : at->second.text;
}

void ConfigForm::assign(const QStringList& assignments, const QString& title)
{
    DraftChange after{{}, m_impl->preset};
    for (const QString& assignment : assignments) {
        const std::string key = assignment.section('=', 0, 0).toStdString();
        if (const Field* field = m_impl->draft.schema().find(key))
            after.fields[key] =
                stateFromText(*field, assignment.section('=', 1), m_impl->draft.state(key).value);
    }
    if (!after.fields.empty())
        m_impl->change(title, std::move(after));
}

std::vector<ConfigIssue> ConfigForm::issues() const
{
    return m_impl->issues();
}

void ConfigForm::setExternalIssues(const std::vector<ConfigIssue>& issues)
{
    m_impl->externalIssues = issues;
    m_impl->refreshIssues();
}

void ConfigForm::setFrozen(bool frozen, const QString& reason)
{
    m_impl->isFrozen = frozen;
    m_impl->frozenReason = reason;
    m_impl->bar->setFrozen(frozen);
    for (const Field& field : m_impl->draft.schema().fields())
        m_impl->refreshRow(field);
    Q_EMIT frozenChanged(frozen);
}

bool ConfigForm::isFrozen() const
{
    return m_impl->isFrozen;
}

void ConfigForm::setClosedChoices(const std::vector<ClosedChoice>& choices)
{
    m_impl->closed.clear();
    for (const ClosedChoice& choice : choices)
        m_impl->closed[choice.key][QString::fromStdString(choice.value)] =
            QString::fromStdString(choice.reason);
    for (const Field& field : m_impl->draft.schema().fields())
        m_impl->refreshRow(field);
}

void ConfigForm::showLive(const std::map<std::string, std::string>& values)
{
    std::map<std::string, std::string> known = values;
    std::erase_if(known, [&](const auto& value) {
        const Field* field = m_impl->draft.schema().find(value.first);
        return field == nullptr || !field->isLive || value.first == m_impl->pendingKey;
    });
    std::string toml;
    for (const auto& [key, value] : known)
        toml += key + " = " + value + "\n";
    const auto reading = m_impl->draft.read(toml, "live");
    if (!reading.config || !reading.issues.empty())
        return;
    DraftChange shown{{}, m_impl->preset};
    for (const auto& [key, value] : known) {
        FieldState state{reading.config->value(key), {}, {}};
        if (state != m_impl->draft.state(key))
            shown.fields[key] = std::move(state);
    }
    if (!shown.fields.empty())
        m_impl->show(shown);
}

void ConfigForm::setBlocked(const QString& start, const QString& queue)
{
    m_impl->footer->setBlocked(start, queue);
}

void ConfigForm::addToFooter(QWidget* widget)
{
    m_impl->footer->addWidget(widget);
}

void ConfigForm::focusField(const QString& key)
{
    m_impl->reveal(key.toStdString());
}

std::vector<ConfigDifference> ConfigForm::differencesTo(const std::string& toml) const
{
    const auto other = m_impl->draft.read(toml, "").config;
    return other ? difference(m_impl->draft.config(), *other) : std::vector<ConfigDifference>();
}

bool ConfigForm::compareWith(const std::string& toml, const QString& title)
{
    const auto other = m_impl->draft.read(toml, title.toStdString()).config;
    if (other)
        m_impl->compare(*other, title);
    return other.has_value();
}

QUndoStack* ConfigForm::undoStack() const
{
    return &m_impl->undo;
}

bool ConfigForm::event(QEvent* event)
{
    // While the form has the focus these keys are its own; a window-wide shortcut on the same keys
    // stays untouched.
    if (event->type() == QEvent::ShortcutOverride &&
        formKey(static_cast<QKeyEvent*>(event)) != FormKey::None) {
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

void ConfigForm::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_impl->fitColumns();
}

void ConfigForm::keyPressEvent(QKeyEvent* event)
{
    switch (formKey(event)) {
    case FormKey::Undo:
        if (!m_impl->isFrozen)
            m_impl->undo.undo();
        return;
    case FormKey::Redo:
        if (!m_impl->isFrozen)
            m_impl->undo.redo();
        return;
    case FormKey::Start:
        m_impl->start();
        return;
    case FormKey::Queue:
        m_impl->queue();
        return;
    case FormKey::Find:
        m_impl->search->setFocus(Qt::ShortcutFocusReason);
        m_impl->search->selectAll();
        return;
    case FormKey::None:
        QWidget::keyPressEvent(event);
    }
}

} // namespace vergence
