// How the form is built and shown.

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>

#include "app/forms/field_row.h"
#include "app/forms/form_combo.h"
#include "app/forms/form_footer.h"
#include "app/forms/form_impl.h"
#include "app/forms/form_section.h"
#include "app/forms/preset_bar.h"

namespace vergence {
namespace {

constexpr int kLabelCharacters = 24;  // wider titles are wrapped
constexpr int kEditorCharacters = 24; // what a list or a path needs to be read
constexpr int kRightMargin = 4;
enum Level { Basic, All, Live };

} // namespace

void ConfigForm::Impl::buildFrame()
{
    auto* column = new QVBoxLayout(form);
    column->setContentsMargins(8, 8, 8, 8);
    bar = new PresetBar(form);
    column->addWidget(bar);
    column->addWidget(makeFilterBar());

    scroll = new QScrollArea(form);
    scroll->setObjectName(QStringLiteral("configScroll"));
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    column->addWidget(scroll, 1);

    footer = new FormFooter(form);
    column->addWidget(footer);
    QObject::connect(footer, &FormFooter::jumpRequested, form, &ConfigForm::focusField);
    QObject::connect(footer, &FormFooter::startRequested, form, [this] { start(); });
    QObject::connect(footer, &FormFooter::queueRequested, form, [this] { queue(); });
}

QWidget* ConfigForm::Impl::makeFilterBar()
{
    auto* filters = new QWidget(form);
    auto* row = new QHBoxLayout(filters);
    row->setContentsMargins(0, 0, 0, 0);
    search = new QLineEdit(filters);
    level = new FormCombo(filters);
    changedOnly = new QCheckBox(tr("Changed"), filters);
    row->addWidget(search, 1);
    row->addWidget(level);
    row->addWidget(changedOnly);

    search->setObjectName(QStringLiteral("configSearch"));
    search->setPlaceholderText(tr("Search settings"));
    search->setAccessibleName(tr("Search settings by title, key or help"));
    search->setClearButtonEnabled(true);
    level->setObjectName(QStringLiteral("configLevel"));
    level->setAccessibleName(tr("Which settings to show"));
    level->setToolTip(tr("Basic hides the settings that are rarely needed; Live shows those that "
                         "may be changed while a run goes on"));
    level->setFocusPolicy(Qt::StrongFocus);
    level->addItem(tr("Basic"));
    level->addItem(tr("All"));
    level->addItem(tr("Live"));
    changedOnly->setObjectName(QStringLiteral("configChangedOnly"));
    changedOnly->setToolTip(tr("Show only the settings that differ from their defaults"));
    changedOnly->setAccessibleName(tr("Only changed settings"));

    const auto refresh = [this] {
        revealed.clear();
        refreshVisibility();
    };
    QObject::connect(search, &QLineEdit::textChanged, form, refresh);
    QObject::connect(level, &QComboBox::currentIndexChanged, form, refresh);
    QObject::connect(changedOnly, &QCheckBox::toggled, form, refresh);
    return filters;
}

void ConfigForm::Impl::clearRows()
{
    sections.clear();
    rows.clear();
    emptyNote = nullptr;
    delete scroll->takeWidget();
}

void ConfigForm::Impl::buildRows()
{
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, kRightMargin, 0);
    column->setSpacing(2);

    const QFontMetrics metrics = form->fontMetrics();
    titleWidth = unitWidth = 0;
    std::map<std::string, FormSection*> byGroup;
    for (const Field& field : draft.schema().fields()) {
        FormSection*& section = byGroup[field.group];
        if (section == nullptr) {
            section = new FormSection(QString::fromStdString(field.group), content);
            sections.push_back(section);
            column->addWidget(section);
        }
        auto* row = new FieldRow(field, section->body());
        section->addRow(row);
        rows[field.key] = row;
        connectRow(row);
        titleWidth = std::max(titleWidth, FieldRow::labelWidthFor(field, metrics));
        unitWidth =
            std::max(unitWidth, metrics.horizontalAdvance(QString::fromStdString(field.unit)));
    }
    fitColumns();

    emptyNote = new QWidget(content);
    auto* note = new QVBoxLayout(emptyNote);
    emptyText = new QLabel(emptyNote);
    emptyText->setWordWrap(true);
    auto* clear = new QToolButton(emptyNote);
    clear->setObjectName(QStringLiteral("configClearFilter"));
    clear->setText(tr("Clear the filter"));
    clear->setAccessibleName(clear->text());
    note->addWidget(emptyText);
    note->addWidget(clear);
    column->addWidget(emptyNote);
    QObject::connect(clear, &QToolButton::clicked, form, [this] {
        search->clear();
        changedOnly->setChecked(false);
    });

    moreButton = new QToolButton(content);
    moreButton->setObjectName(QStringLiteral("configShowAll"));
    moreButton->setAutoRaise(true);
    moreButton->setFocusPolicy(Qt::TabFocus);
    column->addWidget(moreButton);
    QObject::connect(moreButton, &QToolButton::clicked, form,
                     [this] { level->setCurrentIndex(All); });
    column->addStretch(1);
    scroll->setWidget(content);
}

void ConfigForm::Impl::fitColumns()
{
    // The scroll bar counts whether it is shown or not, so that rows do not jump with it.
    const QMargins frame = form->layout()->contentsMargins();
    const int room = form->width() - frame.left() - frame.right() - kRightMargin -
                     scroll->verticalScrollBar()->sizeHint().width() - FieldRow::frameWidth();
    const int most = kLabelCharacters * form->fontMetrics().averageCharWidth();
    const int labelWidth = std::min({titleWidth, most, room * 2 / 5});
    const int editorWidth = room - labelWidth - unitWidth;
    const int wanted = form->fontMetrics().horizontalAdvance(u'0') * kEditorCharacters;
    for (const auto& [key, row] : rows) {
        row->setColumns(labelWidth, unitWidth);
        row->setStacked(row->isLong() && editorWidth < wanted);
    }
}

void ConfigForm::Impl::connectRow(FieldRow* row)
{
    const Field& field = row->field();
    QObject::connect(&row->editor(), &FieldEditor::committed, form,
                     [this, row](const FieldState& state) { commit(row->field(), state); });
    QObject::connect(&row->editor(), &FieldEditor::typed, form,
                     [this, row](const FieldState& state) {
                         pendingKey = row->field().key;
                         pending = state;
                         refreshIssues();
                     });
    QObject::connect(&row->editor(), &FieldEditor::restored, form, [this] {
        pendingKey.clear();
        refreshIssues();
    });
    const QString title = QString::fromStdString(field.title.empty() ? field.key : field.title);
    QObject::connect(row, &FieldRow::resetRequested, form, [this, row, title] {
        const Field& reset = row->field();
        change(tr("Reset %1").arg(title), {{{reset.key, {reset.defaultValue, {}, {}}}}, preset});
    });
}

void ConfigForm::Impl::refreshRow(const Field& field)
{
    FieldRow* row = rows.at(field.key);
    row->editor().show(draft.state(field.key));
    row->setChanged(draft.differsFromDefault(field));
    row->reserveLock(isFrozen);
    const auto found = closed.find(field.key);
    const auto reasons =
        found == closed.end() ? std::map<QString, QString>() : found->second; // by value
    row->editor().setClosed(reasons);
    const bool isLocked = isFrozen && !field.isLive;
    const bool isClosed =
        reasons.contains("") || (field.type == FieldType::Bool && !reasons.empty());
    row->setLock(isLocked || isClosed,
                 isLocked || !isClosed ? frozenReason : reasons.begin()->second);
}

bool ConfigForm::Impl::isShown(const FieldRow& row, const QString& text) const
{
    const Field& field = row.field();
    if (field.key == revealed)
        return true;
    if (!draft.isVisible(field))
        return false;
    if (!text.isEmpty() && !row.searchText().contains(text))
        return false;
    if (changedOnly->isChecked())
        return draft.differsFromDefault(field);
    if (level->currentIndex() == Live && text.isEmpty())
        return field.isLive;
    // A search looks through everything; what is wrong must be seen.
    return !field.isAdvanced || level->currentIndex() == All || !text.isEmpty() ||
           !draft.state(field.key).isValid();
}

void ConfigForm::Impl::refreshVisibility()
{
    if (emptyNote == nullptr)
        return;
    const QString text = search->text().trimmed().toLower();
    int total = 0, hiddenAdvanced = 0;
    for (FormSection* section : sections) {
        int hits = 0;
        bool holdsRevealed = false;
        for (FieldRow* row : section->rows()) {
            const bool shown = isShown(*row, text);
            row->setVisible(shown);
            hits += shown;
            holdsRevealed = holdsRevealed || row->field().key == revealed;
            hiddenAdvanced += !shown && row->field().isAdvanced && draft.isVisible(row->field());
        }
        section->setHits(hits);
        section->setForcedOpen(holdsRevealed ||
                               ((!text.isEmpty() || changedOnly->isChecked()) && hits > 0));
        total += hits;
    }
    const bool isFiltered = !text.isEmpty() || changedOnly->isChecked();
    emptyNote->setVisible(total == 0 && isFiltered);
    emptyText->setText(text.isEmpty()
                           ? tr("Every setting is at its default.")
                           : tr("No setting matches “%1”.").arg(search->text().trimmed()));
    moreButton->setVisible(hiddenAdvanced > 0 && !isFiltered && level->currentIndex() == Basic);
    moreButton->setText(hiddenAdvanced == 1 ? tr("Show 1 advanced setting")
                                            : tr("Show %1 advanced settings").arg(hiddenAdvanced));
    moreButton->setAccessibleName(moreButton->text());
}

void ConfigForm::Impl::refreshIssues()
{
    const std::vector<ConfigIssue> found = issues();
    std::map<std::string, const ConfigIssue*> first;
    for (const ConfigIssue& issue : found)
        if (issue.severity != IssueSeverity::Note)
            first.emplace(issue.key, &issue);
    for (const auto& [key, row] : rows) {
        const auto at = first.find(key);
        if (at == first.end())
            row->setProblem({}, false);
        else
            row->setProblem(QString::fromStdString(at->second->sentence),
                            at->second->severity == IssueSeverity::Error);
    }
    footer->setIssues(found, changedCount());
    bar->setCurrent(preset, form->isPresetModified());
}

void ConfigForm::Impl::reveal(const std::string& key)
{
    const auto at = rows.find(key);
    if (at == rows.end())
        return;
    revealed = key;
    refreshVisibility();
    if (QWidget* content = scroll->widget(); content->layout() != nullptr)
        content->layout()->activate(); // a row that was hidden has no place yet
    scroll->ensureWidgetVisible(at->second, 0, 40);
    at->second->editor().input()->setFocus(Qt::OtherFocusReason);
}

} // namespace vergence
