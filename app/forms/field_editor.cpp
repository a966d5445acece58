#include "app/forms/field_editor.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QStandardItemModel>

#include "app/forms/form_combo.h"
#include "app/forms/path_edit.h"
#include "app/forms/sci_edit.h"
#include "app/forms/seed_edit.h"

namespace vergence {

FieldEditor::FieldEditor(const Field& field, QWidget* parent)
    : QObject(parent),
      m_field(field),
      m_last(field.defaultValue),
      m_close([](const auto&) {}),
      m_commit([] {})
{
    switch (field.type) {
    case FieldType::Bool:
        makeCheck(parent);
        break;
    case FieldType::Enum:
        makeCombo(parent);
        break;
    case FieldType::Device:
        makeDevice(parent);
        break;
    default:
        makeLine(parent);
    }
    m_input->setObjectName(QStringLiteral("configForm/") + QString::fromStdString(field.key));
    const QString title = QString::fromStdString(field.title.empty() ? field.key : field.title);
    m_input->setAccessibleName(title);
    m_input->setAccessibleDescription(QString::fromStdString(field.help));
    m_input->setFocusPolicy(Qt::StrongFocus);
    m_input->installEventFilter(this);
    show({field.defaultValue, {}, {}});
}

void FieldEditor::show(const FieldState& state)
{
    m_last = state.value;
    m_show(state);
}

void FieldEditor::setLocked(bool locked)
{
    m_lock(locked);
}

void FieldEditor::setClosed(const std::map<QString, QString>& reasons)
{
    m_close(reasons);
}

void FieldEditor::commit()
{
    m_commit();
}

bool FieldEditor::eventFilter(QObject* watched, QEvent* event)
{
    // Scrolling the form must not change what happens to pass under the pointer; the event goes on
    // to the scroll area.
    if (event->type() == QEvent::Wheel && !m_input->hasFocus()) {
        event->ignore();
        return true;
    }
    return QObject::eventFilter(watched, event);
}

void FieldEditor::makeCheck(QWidget* parent)
{
    auto* check = new QCheckBox(parent);
    m_widget = m_input = check;
    m_show = [check](const FieldState& state) {
        const QSignalBlocker quiet(check);
        check->setChecked(std::get<bool>(state.value));
    };
    m_lock = [check](bool locked) { check->setEnabled(!locked); };
    connect(check, &QCheckBox::toggled, this, [this](bool on) { Q_EMIT committed({on, {}, {}}); });
}

void FieldEditor::makeCombo(QWidget* parent)
{
    auto* combo = new FormCombo(parent);
    m_widget = m_input = combo;
    combo->setLeastCharacters(6);
    for (const std::string& choice : m_field.choices)
        combo->addItem(QString::fromStdString(choice));
    m_show = [combo](const FieldState& state) {
        combo->setCurrentIndex(combo->findText(editorText(state.value)));
    };
    m_lock = [combo](bool locked) { combo->setEnabled(!locked); };
    m_close = [combo](const std::map<QString, QString>& reasons) {
        auto& items = *qobject_cast<QStandardItemModel*>(combo->model());
        for (int i = 0; i < items.rowCount(); ++i) {
            const auto found = reasons.find(combo->itemText(i));
            items.item(i)->setEnabled(found == reasons.end());
            items.item(i)->setToolTip(found == reasons.end() ? QString() : found->second);
        }
    };
    connect(combo, &QComboBox::activated, this, [this, combo] {
        Q_EMIT committed({combo->currentText().toStdString(), {}, {}});
    });
    // Arrow keys and the wheel change a closed combo without activated().
    connect(combo, &QComboBox::currentTextChanged, this, [this, combo](const QString& text) {
        if (combo->currentIndex() >= 0 && text != editorText(m_last))
            Q_EMIT committed({text.toStdString(), {}, {}});
    });
}

void FieldEditor::makeDevice(QWidget* parent)
{
    auto* combo = new FormCombo(parent);
    combo->setEditable(true);
    combo->setInsertPolicy(QComboBox::NoInsert);
    combo->setCompleter(nullptr);
    combo->addItems({QStringLiteral("cpu"), QStringLiteral("cuda")});
    auto* line = new CommitEdit(combo);
    combo->setLineEdit(line);
    line->setAccessibleName(QString::fromStdString(m_field.title));
    useLine(line);
    m_widget = m_input = combo;
    m_lock = [combo](bool locked) { combo->setEnabled(!locked); };
    connect(combo, &QComboBox::activated, this, [line] { line->commit(); });
}

void FieldEditor::makeLine(QWidget* parent)
{
    const QString title = QString::fromStdString(m_field.title);
    if (m_field.type == FieldType::Path) {
        auto* path = new PathEdit(title, parent);
        useLine(path->line());
        m_lock = [path](bool locked) { path->setLocked(locked); };
        m_widget = path;
    } else if (m_field.type == FieldType::Seed) {
        auto* seed = new SeedEdit(parent);
        useLine(seed->line());
        m_lock = [seed](bool locked) { seed->setLocked(locked); };
        m_widget = seed;
    } else if (m_field.type == FieldType::Int || m_field.type == FieldType::Float) {
        const auto kind =
            m_field.type == FieldType::Int ? SciEdit::Kind::Int : SciEdit::Kind::Float;
        useLine(
            new SciEdit(kind, {m_field.minimum, m_field.maximum, m_field.isLogarithmic}, parent));
    } else {
        useLine(new CommitEdit(parent));
    }
}

void FieldEditor::useLine(CommitEdit* line)
{
    m_widget = m_input = line;
    m_show = [line](const FieldState& state) {
        line->setHeldText(state.isValid() ? editorText(state.value) : state.text);
    };
    m_lock = [line](bool locked) { line->setReadOnly(locked); };
    m_commit = [line] { line->commit(); };
    connect(line, &QLineEdit::textEdited, this,
            [this](const QString& text) { Q_EMIT typed(stateFromText(m_field, text, m_last)); });
    connect(line, &CommitEdit::committed, this, [this](const QString& text) {
        Q_EMIT committed(stateFromText(m_field, text, m_last));
    });
    connect(line, &CommitEdit::restored, this, &FieldEditor::restored);
}

} // namespace vergence
