#pragma once

#include <vector>

#include <QWidget>

#include "app/forms/config_form.h"

class QAction;
class QComboBox;
class QLabel;
class QToolButton;

namespace vergence {

/// Head of the form: which preset, whether it was modified, and the menu of what can be done with
/// the whole draft.
class PresetBar : public QWidget {
    Q_OBJECT
public:
    explicit PresetBar(QWidget* parent);

    void setPresets(const std::vector<FormPreset>& presets);
    void setCurrent(const QString& name, bool isModified);
    void setFrozen(bool frozen);
    QString titleOf(const QString& name) const;

Q_SIGNALS:
    void chosen(const QString& name);
    void resetRequested(); ///< back to the preset as it is
    void saveRequested();
    void compareWithPresetRequested();
    void compareWithDefaultRequested();
    void compareWithRunRequested();
    void importRequested();
    void exportRequested();
    void copyCommandRequested();
    void showTomlRequested();

private:
    void makeMenu();

    QComboBox* m_combo;
    QLabel* m_modified;
    QToolButton* m_menu;
    std::vector<QAction*> m_changing; // those that change the draft
};

} // namespace vergence
