#include "app/shell/error_catalogue.h"

#include <algorithm>
#include <csignal>
#include <tuple>
#include <utility>

#include <QCoreApplication>
#include <QRegularExpression>

#include "core/artifact/checkpoint.h"
#include "core/run/run_failure.h"

namespace vergence {

namespace {

constexpr qsizetype kMostReasons = 4;

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
    return problemIdOf(static_cast<ExitCode>(run.exitCode.value_or(1)));
}

QString safetySentence(std::optional<std::int64_t> checkpoint)
{
    return checkpoint ? tr("Your data up to step %1 is safe.").arg(*checkpoint)
                      : tr("No checkpoint was written yet.");
}

/// What the worker said, cut after its first sentence: that is what happened, the rest says why or
/// what to do.
std::pair<QString, QString> headAndRest(const QString& words)
{
    static const QRegularExpression end("[.!?]\\s+(?=\\p{Lu})");
    const auto found = end.match(words);
    if (!found.hasMatch())
        return {words, {}};
    return {words.left(found.capturedStart() + 1), words.mid(found.capturedEnd())};
}

void describe(CardContent& card, const RunEntry& run, std::optional<std::int64_t> checkpoint)
{
    // The last heartbeat may be older than the last checkpoint.
    const std::int64_t reached = std::max(run.step, checkpoint.value_or(0));
    const QString safety = " " + safetySentence(checkpoint);
    if (card.id == "E-CRASH") {
        const bool hasSignal = run.exitCode && *run.exitCode > 128;
        card.whatHappened = hasSignal ? tr("The worker stopped with signal %1 at step %2.")
                                            .arg(*run.exitCode - 128)
                                            .arg(reached)
                                      : tr("The worker stopped at step %1.").arg(reached);
        const bool wasKilled = hasSignal && *run.exitCode - 128 == SIGKILL;
        card.why =
            (wasKilled ? tr("Why, as far as we know: the computer ran out of memory and ended the "
                            "worker, or somebody did.")
                       : tr("Why, as far as we know: a fault in the plugin or in a library below "
                            "it.")) +
            " " + tr("The window and other runs are not affected.");
    } else if (card.id == "E-LOST") {
        card.whatHappened =
            tr("%1 has not reported for a while and its worker is gone.").arg(run.name);
        card.why = tr("Why, as far as we know: the computer restarted or the worker was killed.");
    } else if (!run.problem.isEmpty()) {
        std::tie(card.whatHappened, card.why) = headAndRest(run.problem);
    } else {
        card.whatHappened = tr("The run ended with an error at step %1.").arg(reached);
    }
    if (reached > 0 || checkpoint)
        card.whatHappened += (card.whatHappened.endsWith('.') ? "" : ".") + safety;
}

CardContent::Button targetsButton()
{
    return {"targets", tr("Targets…")};
}

std::vector<CardContent::Button> buttonsFor(const QString& id, const RunEntry& run,
                                            std::optional<std::int64_t> checkpoint)
{
    std::error_code ignored;
    if (id == "E-OUTPUT" && !std::filesystem::exists(run.folder.config(), ignored))
        return {{"runs_folder", tr("Choose another folder…")}, {"start_again", tr("Start again")}};
    std::vector<CardContent::Button> buttons;
    if (checkpoint && id != "E-CONFIG" && id != "E-PLUGIN")
        buttons.push_back({"resume", tr("Resume from step %1").arg(*checkpoint)});
    else if (id == "E-JOB" || (id == "E-LOST" && run.isSubmitted()))
        buttons.push_back({"resume", tr("Submit again")});
    if (id == "E-JOB")
        buttons.push_back(targetsButton());
    if (id == "E-LOST" && !run.remote)
        buttons.push_back({"mark_stopped", tr("Mark as stopped")});
    if (id == "E-OOM")
        buttons.push_back({"charts", tr("Show memory chart")});
    if (id == "E-PLUGIN" || id == "E-NOGPU")
        buttons.push_back({"plugins", tr("Plugin manager")});
    if (id == "E-DISK" || id == "E-OUTPUT")
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
    describe(card, run, checkpoint);
    card.buttons = buttonsFor(id, run, checkpoint);
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

std::optional<CardContent> cardForData(const DataReport& report)
{
    const auto isError = [](const ConfigIssue& issue) {
        return issue.severity == IssueSeverity::Error;
    };
    const auto first = std::find_if(report.issues.begin(), report.issues.end(), isError);
    if (first == report.issues.end())
        return std::nullopt;
    CardContent card;
    card.id = QString::fromStdString(first->rule);
    card.whatHappened = QString::fromStdString(first->text());
    const auto further = std::count_if(first + 1, report.issues.end(), isError);
    if (further > 0)
        card.why = tr("%1 more of this kind; Details lists them.").arg(further);
    for (const ConfigIssue& issue : report.issues)
        card.details += QString::fromStdString(issue.rule + ": " + issue.text() + "\n");
    if (!report.remedy.empty())
        card.buttons.push_back({"continue_without", tr("Continue without")});
    if (first->place.line > 0)
        card.buttons.push_back({"open_file", tr("Open file")});
    else
        card.buttons.push_back({"choose_folder", tr("Choose folder")});
    card.buttons.push_back({"problems", tr("Show problems")});
    return card;
}

CardContent cardForConfig(const QString& source, const std::vector<ConfigIssue>& issues)
{
    CardContent card =
        cardForRefusal("E-CONFIG", tr("%1 was not taken; the setup stays as it was.").arg(source));
    QStringList errors;
    for (const ConfigIssue& issue : issues)
        if (issue.severity == IssueSeverity::Error)
            errors << QString::fromStdString(issue.text());
    card.details = errors.join('\n');
    const auto further = errors.size() - kMostReasons;
    if (further > 0)
        errors = errors.mid(0, kMostReasons) << tr("%1 more in Details.").arg(further);
    card.why = errors.join('\n');
    return card;
}

CardContent cardForRefusal(const QString& id, const QString& sentence)
{
    CardContent card;
    card.id = id;
    std::tie(card.whatHappened, card.why) = headAndRest(sentence);
    return card;
}

CardContent cardForCluster(const QString& sentence)
{
    CardContent card = cardForRefusal("E-CLUSTER", sentence);
    card.buttons = {targetsButton()};
    return card;
}

} // namespace vergence
