#pragma once

#include <map>
#include <optional>

#include <QColor>
#include <QString>
#include <QStringList>

#include "app/shell/sweep.h"
#include "core/artifact/remote_run.h"
#include "core/artifact/run_folder.h"
#include "core/cluster/run_placement.h"
#include "core/metrics/metric_decl.h"
#include "core/run/run_state.h"

namespace vergence {

class RunSession;

/// What the list of runs knows of one run folder. `isLoaded` false: only its name is known yet.
struct RunEntry {
    RunFolder folder;
    QString id;   ///< name of the folder
    QString name; ///< for people; the part of the id after the time where none was given
    QStringList tags;
    QString plugin, preset, device;
    RunState state = RunState::Draft;      ///< as people see it
    RunState written = RunState::Draft;    ///< as its folder or its worker tells it
    QString host, slurmJob;                ///< where it works or worked; "slurm 1234_7", or empty
    std::optional<Job> job;                ///< of a run that was submitted to a target
    std::optional<RemoteRun> remote;       ///< of a copy: the run is on another disk
    std::optional<RunPlacement> placement; ///< what the queue said last, while that matters
    QString queueNote;                     ///< "the queue has not answered since 12:04"
    std::int64_t step = 0, total = 0;
    std::optional<int> exitCode;
    QString phase, problem, problemId;
    std::optional<double> seconds; ///< duration so far
    std::optional<double> result;  ///< what the run is told by
    MetricDecl resultOf;           ///< series it belongs to
    std::optional<double> peakVramMiB;
    std::optional<SweepPlace> sweep; ///< of a run that is one of several
    bool isLoaded = false;
    bool hasUnsavedLabels = false; ///< they wait for the worker to make the folder
    bool isAlive = false;          ///< its worker lives
    bool isCharted = false;
    QColor colour;                 ///< of its curves, once charted
    RunSession* session = nullptr; ///< null unless opened, charted or live

    bool hasEnded() const { return isFinal(state); }
    /// Whether it works, or has worked, under a cluster's care or on another computer.
    bool isElsewhere() const;
    /// Whether it was handed to a target, which may do so again.
    bool isSubmitted() const { return job || remote; }
    QString target() const; ///< of a run that was submitted; else empty
    /// Whether nothing is known of a run that should go on elsewhere, because of the way there.
    bool isUnreached() const;
    /// Its folder or its worker tells another state.
    void setWritten(RunState told);
    void setPlacement(const std::optional<RunPlacement>& place);
    /// What the other side says of the run that this is a copy of.
    void setRemote(const RemoteRun& there);
    /// Why it ended: the worker's words, else those of the other side.
    void setProblem(const RunStatus& status);

private:
    void settleState();
    void addProblemThere();
};

/// Series that the runs of a plugin are told by, the most telling first; by plugin id.
using Headlines = std::map<QString, std::vector<MetricDecl>>;

/// "25.07 dB ↑ Held-out PSNR": the arrow is the better direction.
QString resultText(const MetricDecl& metric, double value);
/// What resultText() means, in a sentence.
QString resultHelp(const MetricDecl& metric);
/// Reads status, manifest and labels of a run folder; never throws, an unreadable part stays empty.
/// Any thread.
RunEntry loadRunEntry(const RunFolder& folder, const Headlines& headlines = {});

/// Whether a folder is that of a run, whole or not.
bool isRunFolder(const QString& path);

/// Name and tags that people gave, kept in `labels.json` of the run folder. Throws OutputError.
void saveLabels(const RunEntry& entry);

/// What a run is called until somebody names it: plugin, preset and when it was made, from the
/// folder's name.
QString defaultName(const QString& id, const QString& plugin, const QString& preset);

/// "12:04", with the day where that is not today. Seconds since the epoch.
QString momentText(double seconds);
/// "3 s", "2:41", "1:02:03".
QString durationText(double seconds);
/// Four significant digits, without a needless exponent.
QString figureText(double value);
/// "Crashed (signal 11)", "Failed (code 3)", "Starting: loading data", "Running on n1", "Queued
/// (other jobs go first)", "Running on n1, not reached since 12:04".
QString stateText(const RunEntry& entry);
/// "1234_7 (gpu)": the job that works on a run and its target; empty where there is none, and for
/// lanes, whose jobs are no names for people.
QString jobText(const RunEntry& entry);
/// Name of the icon of a state.
QString stateIcon(RunState state);

} // namespace vergence
