#include "app/shell/error_catalogue.h"

#include <algorithm>

#include <QCoreApplication>
#include <QRegularExpression>

#include "core/artifact/checkpoint.h"
#include "core/base/error.h"

namespace vergence {

namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("ErrorCatalogue", text);
}

QString idOf(const RunEntry& run)
{
    if (!run.problemId.isEmpty())
        return run.problemId;
    if (run.state == RunState::Crashed)
        return "E-CRASH";
    if (run.state == RunState::Lost)
        return "E-LOST";
    switch (static_cast<ExitCode>(run.exitCode.value_or(1))) {
    case ExitCode::ConfigInvalid:
        return "E-CONFIG";
    case ExitCode::PluginUnavailable:
        return "E-PLUGIN";
    case ExitCode::OutOfMemory:
        return "E-OOM";
    case ExitCode::InputUnreadable:
        return "E-DATA";
    case ExitCode::NoDevice:
        return "E-NOGPU";
    case ExitCode::OutputUnwritable:
        return "E-DISK";
    default:
        return "E-RUN";
    }
}

QString safetySentence(std::optional<std::int64_t> checkpoint)
{
    return checkpoint ? tr("Your data up to step %1 is safe.").arg(*checkpoint)
                      : tr("No checkpoint was written yet.");
}

QString whatHappened(const QString& id, const RunEntry& run, std::optional<std::int64_t> checkpoint)
{
    // The last heartbeat may be older than the last checkpoint.
    const std::int64_t reached = std::max(run.step, checkpoint.value_or(0));
    if (id == "E-CRASH") {
        const QString cause = run.exitCode && *run.exitCode > 128
                                  ? tr("The worker stopped with signal %1 at step %2.")
                                        .arg(*run.exitCode - 128)
                                        .arg(reached)
                                  : tr("The worker stopped at step %1.").arg(reached);
        return cause + " " + safetySentence(checkpoint);
    }
    if (id == "E-LOST")
        return tr("%1 has not reported for a while and its worker is gone. %2")
            .arg(run.name, safetySentence(checkpoint));
    if (id == "E-OOM")
        return tr("Memory ran out at step %1. %2").arg(run.step).arg(safetySentence(checkpoint));
    if (id == "E-DISK")
        return tr("Results cannot be written at step %1. %2")
            .arg(run.step)
            .arg(safetySentence(checkpoint));
    if (id == "E-CONFIG")
        return tr("The configuration was not accepted.");
    if (id == "E-PLUGIN")
        return tr("The plugin %1 did not load.").arg(run.plugin);
    if (id == "E-DATA")
        return tr("The input data cannot be read.");
    if (id == "E-NOGPU")
        return tr("The device that this run needs was not found.");
    return tr("The run ended with an error at step %1. %2")
        .arg(run.step)
        .arg(safetySentence(checkpoint));
}

QString whyOf(const QString& id, const RunEntry& run)
{
    // What the client itself says of these two repeats the first sentence of the card.
    if (id == "E-CRASH")
        return tr("Why, as far as we know: a fault in the plugin or in a library below it. The "
                  "window and other runs are not affected.");
    if (id == "E-LOST")
        return tr("Why, as far as we know: the computer restarted or the worker was killed.");
    return run.problem;
}

std::vector<CardContent::Button> buttonsFor(const QString& id,
                                            std::optional<std::int64_t> checkpoint)
{
    std::vector<CardContent::Button> buttons;
    if (checkpoint && id != "E-CONFIG" && id != "E-PLUGIN")
        buttons.push_back({"resume", tr("Resume from step %1").arg(*checkpoint)});
    if (id == "E-LOST")
        buttons.push_back({"mark_stopped", tr("Mark as stopped")});
    if (id == "E-OOM")
        buttons.push_back({"charts", tr("Show memory chart")});
    if (id == "E-PLUGIN" || id == "E-NOGPU")
        buttons.push_back({"plugins", tr("Plugin manager")});
    if (id == "E-DISK")
        buttons.push_back({"folder", tr("Open folder")});
    if (id != "E-LOST" && id != "E-PLUGIN")
        buttons.push_back({"use_config", tr("Use config…")});
    buttons.push_back({"log", tr("Show log")});
    return buttons;
}

} // namespace

std::optional<std::int64_t> newestCheckpointStep(const RunFolder& folder)
{
    const auto checkpoints = listCheckpoints(folder);
    if (checkpoints.empty())
        return std::nullopt;
    static const QRegularExpression number("(\\d+)$");
    const auto match = number.match(QString::fromStdString(checkpoints.back().filename().string()));
    return match.hasMatch() ? std::optional<std::int64_t>(match.captured(1).toLongLong())
                            : std::nullopt;
}

std::optional<CardContent> cardForRun(const RunEntry& run, const QStringList& lastLines)
{
    if (run.state != RunState::Failed && run.state != RunState::Crashed &&
        run.state != RunState::Lost)
        return std::nullopt;
    const QString id = idOf(run);
    const auto checkpoint = newestCheckpointStep(run.folder);
    CardContent card;
    card.id = id;
    card.whatHappened = whatHappened(id, run, checkpoint);
    card.why = whyOf(id, run);
    card.buttons = buttonsFor(id, checkpoint);
    card.details = tr("%1 · %2 · %3 · device %4\n").arg(id, run.id, stateText(run), run.device) +
                   (run.problem.isEmpty() ? QString() : run.problem + "\n") + lastLines.join('\n');
    return card;
}

std::optional<CardContent> cardForProblem(const QString& id, const QString& sentence)
{
    if (!id.startsWith("E-"))
        return std::nullopt;
    CardContent card;
    card.id = id;
    card.whatHappened = sentence;
    if (id == "E-DISK")
        card.buttons = {{"folder", tr("Open folder")}, {"continue", tr("Resume")}};
    card.buttons.push_back({"log", tr("Show log")});
    return card;
}

CardContent cardForConfig(const QString& source, const std::vector<ConfigIssue>& issues)
{
    CardContent card;
    card.id = "E-CONFIG";
    card.whatHappened = tr("%1 is not accepted as it is.").arg(source);
    for (const ConfigIssue& issue : issues) {
        if (issue.severity != IssueSeverity::Error)
            continue;
        if (card.why.isEmpty())
            card.why = QString::fromStdString(issue.text());
        card.details += QString::fromStdString(issue.text()) + "\n";
    }
    card.buttons = {{"fix", tr("Fix in setup")}, {"problems", tr("Show problems")}};
    return card;
}

} // namespace vergence
