#pragma once

#include <optional>
#include <vector>

#include <QString>
#include <QWidget>

#include <nlohmann/json.hpp>

class QFrame;
class QLabel;

namespace vergence {

/// One stage of a run that works in stages.
struct RunStage {
    QString name;
    QString state; ///< "waiting", "running", "done", "reused", "skipped", "stopped", "failed"
    std::optional<double> seconds;
    QString note;
    bool operator==(const RunStage&) const = default;
};

/// The rows of the table "stages" (columns stage, state, seconds, note) that a run has reported;
/// empty where it reports none. `isLive`: whether the run goes on; otherwise what it left running
/// has stopped.
std::vector<RunStage> stagesOf(const std::vector<nlohmann::json>& tables, bool isLive);

/// The stages of a run in a row (`runStageStrip`), each with name, icon, colour and time; hidden
/// for runs without stages.
class RunStages : public QWidget {
    Q_OBJECT
public:
    explicit RunStages(QWidget* parent = nullptr);

    void showStages(const std::vector<RunStage>& stages);
    const std::vector<RunStage>& stages() const { return m_stages; }

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Chip {
        QFrame* frame;
        QLabel *icon, *name, *time;
    };
    Chip makeChip();
    void fill(const Chip& chip, const RunStage& stage);

    std::vector<RunStage> m_stages;
    std::vector<Chip> m_chips;
};

} // namespace vergence
