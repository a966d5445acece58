#pragma once

#include <QWidget>

#include "app/forms/config_form.h"
#include "app/shell/data_card.h"
#include "app/shell/error_card.h"
#include "app/shell/probe_catalog.h"
#include "app/shell/stage_strip.h"
#include "app/shell/worker_commands.h"

class QComboBox;
class QLabel;

namespace vergence {

class TargetChoice;

/// The setup dock: stage strip, choice of the plugin, form.
class SetupPanel : public QWidget {
    Q_OBJECT
public:
    explicit SetupPanel(ProbeCatalog& catalog, QWidget* parent = nullptr);

    /// Shows a plugin's form with a preset; false where the plugin is not usable.
    bool choose(const QString& plugin, const QString& preset);
    /// What is wrong with a configuration whose header (or `plugin`) names the plugin. Rules over
    /// several fields need the lab's code; the worker checks those once it is loaded.
    std::vector<ConfigIssue> issuesIn(const std::string& toml, const QString& source,
                                      const QString& plugin = {}) const;
    /// Loads it; with an error nothing changes. Returns issuesIn() it.
    std::vector<ConfigIssue> loadToml(const std::string& toml, const QString& source,
                                      const QString& plugin = {});
    /// Makes a folder the data of a lab. What was set stays where the lab is in the form already,
    /// but for the demo, which is about data of its own.
    void take(const FolderTaker& taker, const QString& folder);
    bool holds(const FolderTaker& taker, const QString& folder) const;
    /// Says above the form why something was not taken, until the next one or take() of anything.
    void refuse(const CardContent& card);
    void clearRefusal();
    /// What the lab found in the data.
    void showData(const DataReport& report);
    QString plugin() const { return m_plugin; }
    RunDraft draft() const;
    std::string tomlWithHeader() const;
    void reloadPresets(const QString& chosen); ///< after the draft was saved as that one
    ConfigForm& form() { return *m_form; }
    const ConfigForm& form() const { return *m_form; }
    StageStrip& strip() { return *m_strip; }
    TargetChoice& place() { return *m_place; }

Q_SIGNALS:
    void pluginChosen(const QString& plugin);
    void problemsRequested();
    void targetsRequested();

private:
    void takeCatalog();
    QString pluginOf(const ConfigHeader& header, const QString& plugin) const;
    void dropOldData();
    void act(const QString& action);
    QWidget* makeHeader();

    ProbeCatalog& m_catalog;
    QString m_plugin;
    QComboBox* m_plugins;
    QLabel* m_note;
    StageStrip* m_strip;
    TargetChoice* m_place;
    DataCard* m_dataCard;
    DataReport m_data;
    QString m_dataValue; ///< of its setting when it was looked at
    ErrorCard* m_refusal = nullptr;
    ConfigForm* m_form;
};

} // namespace vergence
