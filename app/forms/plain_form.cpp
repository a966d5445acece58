#include "app/forms/plain_form.h"

#include <algorithm>

#include <QVBoxLayout>

#include "app/forms/field_row.h"
#include "app/forms/form_section.h"
#include "app/forms/path_edit.h"

namespace vergence {

PlainForm::PlainForm(const ConfigSchema& schema, const QString& prefix, QWidget* parent)
    : QWidget(parent),
      m_draft(schema)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    for (const Field& field : schema.fields()) {
        FormSection*& section = m_sections[field.group];
        if (section == nullptr) {
            section = new FormSection(QString::fromStdString(field.group), this);
            column->addWidget(section);
        }
        auto* row = new FieldRow(field, section->body());
        row->editor().input()->setObjectName(prefix + '/' + QString::fromStdString(field.key));
        section->addRow(row);
        m_rows[field.key] = row;
        connectRow(*row);
    }
    column->addStretch();
    fitColumns();
    refresh();
}

PlainForm::~PlainForm()
{
    for (const auto& [key, row] : m_rows) // a line that loses its focus commits
        row->editor().disconnect(this);
}

void PlainForm::connectRow(FieldRow& row)
{
    const Field& field = row.field();
    connect(&row.editor(), &FieldEditor::committed, this,
            [this, &field](const FieldState& state) { set(field, state); });
    connect(&row.editor(), &FieldEditor::typed, this, [this, &field](const FieldState& state) {
        m_pendingKey = field.key;
        m_pending = state;
        refresh();
        Q_EMIT edited();
    });
    connect(&row.editor(), &FieldEditor::restored, this, [this] {
        m_pendingKey.clear();
        refresh();
        Q_EMIT edited();
    });
    connect(&row, &FieldRow::resetRequested, this, [this, &field] {
        set(field, {field.defaultValue, {}, {}});
    });
}

void PlainForm::fitColumns()
{
    int titles = 0, units = 0;
    for (const auto& [key, row] : m_rows) {
        titles = std::max(titles, FieldRow::labelWidthFor(row->field(), fontMetrics()));
        units = std::max(
            units, fontMetrics().horizontalAdvance(QString::fromStdString(row->field().unit)));
    }
    for (const auto& [key, row] : m_rows)
        row->setColumns(titles, units);
}

std::vector<ConfigIssue> PlainForm::loadToml(const std::string& toml, const std::string& source)
{
    const Draft::Reading reading = m_draft.read(toml, source);
    m_pendingKey.clear();
    for (const auto& [key, row] : m_rows) {
        const ConfigValue value =
            reading.config ? reading.config->value(key) : row->field().defaultValue;
        m_draft.setState(key, {value, {}, {}});
        row->editor().show(m_draft.state(key));
    }
    refresh();
    return reading.issues;
}

Config PlainForm::config() const
{
    return m_draft.config();
}

std::vector<ConfigIssue> PlainForm::issues() const
{
    return m_draft.issues(m_pendingKey, m_pending);
}

void PlainForm::commitPending()
{
    for (const auto& [key, row] : m_rows)
        row->editor().commit();
}

void PlainForm::setPathsElsewhere(bool elsewhere)
{
    for (PathEdit* path : findChildren<PathEdit*>())
        path->setElsewhere(elsewhere);
}

void PlainForm::set(const Field& field, const FieldState& state)
{
    if (m_pendingKey == field.key)
        m_pendingKey.clear();
    const bool isNew = state != m_draft.state(field.key);
    m_draft.setState(field.key, state);
    m_rows.at(field.key)->editor().show(state);
    refresh();
    if (isNew)
        Q_EMIT edited();
}

void PlainForm::refresh()
{
    std::map<std::string, const ConfigIssue*> first;
    const std::vector<ConfigIssue> found = issues();
    for (const ConfigIssue& issue : found)
        if (issue.severity != IssueSeverity::Note)
            first.emplace(issue.key, &issue);
    for (const auto& [key, row] : m_rows) {
        row->setChanged(m_draft.differsFromDefault(row->field()));
        const auto at = first.find(key);
        row->setProblem(at == first.end() ? QString()
                                          : QString::fromStdString(at->second->sentence),
                        at != first.end() && at->second->severity == IssueSeverity::Error);
    }
    refreshVisibility(first);
}

/// What is wrong must be seen, whatever hides its field.
void PlainForm::refreshVisibility(const std::map<std::string, const ConfigIssue*>& issues)
{
    for (const auto& [group, section] : m_sections) {
        int shown = 0;
        for (FieldRow* row : section->rows()) {
            const bool isShown =
                m_draft.isVisible(row->field()) || issues.contains(row->field().key);
            row->setVisible(isShown);
            shown += isShown;
        }
        section->setHits(shown);
    }
}

} // namespace vergence
