#pragma once

#include <memory>

#include <QDialog>

#include "app/shell/command_call.h"

class QLabel;
class QListWidget;
class QListWidgetItem;
class QPushButton;

namespace vergence {

class PlainForm;

/// The targets (`targetsDialog`): their names at the left, the settings of one at the right, and
/// what “Try” found or “Install” did.
class TargetsDialog : public QDialog {
    Q_OBJECT
public:
    TargetsDialog(QString executable, const QString& chosen, QWidget* parent = nullptr);
    ~TargetsDialog() override;

    void done(int result) override; ///< asks where something is not saved

Q_SIGNALS:
    void targetsChanged();
    void targetRenamed(const QString& from, const QString& to);

private:
    QWidget* makeNames();
    QWidget* makeSettings();
    QWidget* makeButtons();
    void fill(const QString& chosen);
    void choose(QListWidgetItem* item);
    void load();
    void refresh();
    void makeNew();
    void rename(const QString& wanted);
    void remove();
    bool save();
    bool leave(); ///< false where somebody wants to go on editing
    void tryOut();
    void takeCheck(const CommandAnswer& answer);
    void install();
    void takeInstall(const CommandAnswer& answer);
    bool begin(const QString& line); ///< a call; false where something is to be mended first
    void showLines(const QByteArray& json);
    void endTry();
    void addLine(const QString& icon, const QColor& colour, const QString& text);
    void say(const QString& sentence, bool isError);

    QString m_executable;
    QString m_name; ///< of the target whose settings are shown; empty for none
    bool m_isChanged = false;
    QListWidget *m_names, *m_lines;
    QLabel *m_empty, *m_note;
    QWidget* m_settings;
    PlainForm* m_form;
    QPushButton *m_rename, *m_remove, *m_save, *m_try, *m_install;
    std::unique_ptr<CommandCall> m_call; ///< of a try or an installation that is under way
};

} // namespace vergence
