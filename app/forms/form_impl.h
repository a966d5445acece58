#pragma once

#include <map>
#include <set>

#include <QUndoStack>

#include "app/forms/config_form.h"
#include "app/forms/draft.h"
#include "app/forms/draft_command.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QScrollArea;
class QToolButton;

namespace vergence {

class DiffDialog;
class FieldRow;
class FormFooter;
class FormSection;
class PresetBar;

/// State and widgets of the form. form_view.cpp builds and shows, form_actions.cpp holds what the
/// menu does, config_form.cpp the rest.
struct ConfigForm::Impl {
    explicit Impl(ConfigForm* owner);

    // form_view.cpp
    void buildFrame();
    QWidget* makeFilterBar();
    void buildRows();
    void clearRows();
    void fitColumns();
    void connectRow(FieldRow* row);
    void refreshRow(const Field& field);
    void refreshVisibility();
    void refreshIssues();
    bool isShown(const FieldRow& row, const QString& search) const;
    void reveal(const std::string& key);

    // config_form.cpp
    void change(const QString& text, DraftChange after);
    void apply(const DraftChange& change);
    void show(const DraftChange& change); ///< without telling a run
    void commit(const Field& field, const FieldState& state);
    void commitFocused();
    DraftChange changeTo(const Config& config, const QString& preset) const;
    const FormPreset* findPreset(const QString& name) const;
    bool isShipped() const; ///< the preset that the draft belongs to
    QStringList flagsAgainst(const Config& base) const;
    void usePresetValues(const QString& name);
    std::vector<ConfigIssue> issues() const;
    int changedCount() const;
    void start();
    void queue();

    // form_actions.cpp
    void connectPresetBar();
    void savePreset();
    void compare(const Config& other, const QString& title);
    void importToml();
    void exportToml();
    void copyCommand();
    void showToml();

    ConfigForm* form;
    Draft draft;
    std::vector<FormPreset> presets;
    QString preset;
    std::optional<Config> presetConfig;
    std::vector<ConfigIssue> loadIssues, externalIssues;
    QUndoStack undo;
    std::string pendingKey; // field under the cursor with a text that is not committed yet
    FieldState pending;
    bool isFrozen = false;
    QString frozenReason;
    std::map<std::string, std::map<QString, QString>> closed; // reasons by key and value
    std::string revealed;                                     // shown whatever the filters say

    PresetBar* bar = nullptr;
    QLineEdit* search = nullptr;
    QComboBox* level = nullptr;
    QCheckBox* changedOnly = nullptr;
    QScrollArea* scroll = nullptr;
    QWidget* emptyNote = nullptr;
    QLabel* emptyText = nullptr;
    QToolButton* moreButton = nullptr;
    FormFooter* footer = nullptr;
    std::vector<FormSection*> sections;
    std::map<std::string, FieldRow*> rows;
    int titleWidth = 0, unitWidth = 0; // of the widest title and unit
};

} // namespace vergence
