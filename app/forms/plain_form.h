#pragma once

#include <map>
#include <vector>

#include <QWidget>

#include "app/forms/draft.h"

namespace vergence {

class FieldRow;
class FormSection;

/// The fields of a schema under the titles of their groups, and what is wrong beneath each; those
/// that other values make void are hidden. Without presets, search and history. Editors are named
/// `<prefix>/<key>`.
class PlainForm : public QWidget {
    Q_OBJECT
public:
    PlainForm(const ConfigSchema& schema, const QString& prefix, QWidget* parent = nullptr);
    ~PlainForm() override;

    /// Shows the values of a file; what cannot be read of it is returned and stays at its default.
    std::vector<ConfigIssue> loadToml(const std::string& toml, const std::string& source);
    Config config() const; ///< what is wrong is at its default
    std::vector<ConfigIssue> issues() const;
    void commitPending();                   ///< takes over what is typed
    void setPathsElsewhere(bool elsewhere); ///< they are of another computer

Q_SIGNALS:
    void edited();

private:
    void connectRow(FieldRow& row);
    void set(const Field& field, const FieldState& state);
    void fitColumns();
    void refresh();
    void refreshVisibility(const std::map<std::string, const ConfigIssue*>& issues);

    Draft m_draft;
    std::map<std::string, FieldRow*> m_rows;
    std::map<std::string, FormSection*> m_sections; // by group
    std::string m_pendingKey;                       // of the field whose text is not committed yet
    FieldState m_pending;
};

} // namespace vergence
