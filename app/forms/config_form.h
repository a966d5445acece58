#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <QWidget>

#include "core/config/closed_choice.h"
#include "core/config/config.h"

class QUndoStack;

namespace vergence {

/// A preset as the form offers it.
struct FormPreset {
    QString name, title, summary, toml;
    bool isUserPreset = false;
    QString file = {}; ///< of a user preset, for command lines
};

/// What the user's version of a shipped preset is called unless another name is given.
QString ownPresetName(const QString& shipped);

/// Form made from a schema: groups, search, Basic/All, only-changed, changed dots, units, help,
/// undo per field (object name `configForm`; editors are named `configForm/<key>`). Knows no run
/// and no plugin.
class ConfigForm : public QWidget {
    Q_OBJECT
public:
    explicit ConfigForm(QWidget* parent = nullptr);
    ~ConfigForm() override;

    void setSchema(const ConfigSchema& schema, const std::vector<FormPreset>& presets);
    /// Replaces the presets; the draft stays with its history, and belongs to `chosen` from now on.
    void setPresets(const std::vector<FormPreset>& presets, const QString& chosen);
    /// Applies a shipped or user preset by name; "" means the defaults.
    void applyPreset(const QString& name);
    QString presetName() const;
    bool isPresetModified() const;
    /// Loads TOML (a file, a run's config) over the preset that it names. With an error nothing
    /// changes; the issues say why.
    std::vector<ConfigIssue> loadToml(const std::string& toml, const std::string& source);
    /// The present draft, also where it has errors (valid fields only). Names a shipped preset,
    /// never the user's: no other program knows those.
    std::string toml() const;
    /// Takes over what is typed and not yet committed. Menus and tool bars leave it so.
    void commitPending();
    QStringList flags() const; ///< `key=value` of what differs from the preset, for --set
    /// What the editor of a setting shows; empty for a key that is not there.
    QString fieldText(const QString& key) const;
    /// Writes `key=text` into the editors, as one step of the history that is called `title`.
    /// Unknown keys are left out.
    void assign(const QStringList& assignments, const QString& title);
    /// Result of the local checks (ranges, types) merged with setExternalIssues().
    std::vector<ConfigIssue> issues() const;
    /// Issues of the plugin's own rules, from a `vergence validate --json` of the draft.
    void setExternalIssues(const std::vector<ConfigIssue>& issues);
    /// Frozen: only live fields may be edited (while a run goes on); `reason` is the tool tip of
    /// the lock.
    void setFrozen(bool frozen, const QString& reason = {});
    bool isFrozen() const;
    /// Choices that are greyed with their reason, for what a run that goes on cannot take where it
    /// runs; a tick box whose other state is closed is locked. Replaces those of before.
    void setClosedChoices(const std::vector<ClosedChoice>& choices);
    /// Live settings as a run has them, as in a TOML file: fields that show something else follow,
    /// without a step of the history and without liveChanged(). Not the one that is typed into.
    void showLive(const std::map<std::string, std::string>& values);
    /// Why Start and “Add to queue” cannot be pressed however right the settings are; empty: they
    /// can.
    void setBlocked(const QString& start, const QString& queue);
    void addToFooter(QWidget* widget); ///< left of the buttons
    void focusField(const QString& key);
    std::vector<ConfigDifference> differencesTo(const std::string& toml) const;
    /// Opens the comparison with `toml`, which is called `title`, and lets values be copied from
    /// it; false where it cannot be read.
    bool compareWith(const std::string& toml, const QString& title);

    /// History of the draft, for the Edit menu while the form is not frozen; Ctrl+Z and
    /// Ctrl+Shift+Z act on it while the form has the focus.
    QUndoStack* undoStack() const;

Q_SIGNALS:
    void edited(); ///< the draft changed
    void frozenChanged(bool isFrozen);
    void presetChosen(const QString& name);
    void liveChanged(const QString& key, const QString& tomlValue);
    void startRequested();
    void queueRequested();
    void savePresetRequested(const QString& name, const QString& toml);
    void compareRequested();
    void importRequested(const QString& path); ///< of a TOML file

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
