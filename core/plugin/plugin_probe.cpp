#include <QFile>
#include <QProcess>

#include <sys/resource.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/plugin/plugin_registry.h"
#include "core/plugin/plugin_store.h"

namespace vergence {

namespace {

using nlohmann::json;

/// How a probe process ended.
struct ProbeOutcome {
    enum class End { Answered, Refused, Crashed, Hung, NotStarted };
    End end = End::NotStarted;
    std::string reason, details;
    json description;
};

void readAnswer(ProbeOutcome& outcome, const QByteArray& output, const QByteArray& errors,
                const std::string& file)
{
    const json answer = json::parse(output.begin(), output.end(), nullptr, false);
    outcome.end = ProbeOutcome::End::Refused;
    outcome.details = errors.trimmed().toStdString();
    if (answer.is_object() && answer.contains("schema") && answer.contains("descriptor")) {
        outcome.end = ProbeOutcome::End::Answered;
        outcome.description = answer;
    } else if (answer.is_object() && answer.contains("refusal") && answer["refusal"].is_object()) {
        outcome.reason = answer["refusal"].value("reason", "");
        outcome.details = answer["refusal"].value("details", "");
    }
    if (outcome.reason.empty())
        outcome.reason = fmt::format("`{}` was refused: it could not describe itself.", file);
}

ProbeOutcome runProbe(const std::filesystem::path& plugin, const std::filesystem::path& executable,
                      int milliseconds)
{
    const std::string file = plugin.filename().string();
    QProcess process;
    process.setChildProcessModifier([] {
        const rlimit none{0, 0}; // a crash here is an answer, not something to dump
        ::setrlimit(RLIMIT_CORE, &none);
    });
    process.start(QFile::decodeName(executable.c_str()),
                  {"plugins", "describe", "--json", QFile::decodeName(plugin.c_str())},
                  QIODevice::ReadOnly);
    ProbeOutcome outcome;
    if (!process.waitForStarted(milliseconds)) {
        outcome.reason =
            fmt::format("`{}` could not be checked: {} does not start.", file, executable.string());
        outcome.details = process.errorString().toStdString();
        return outcome;
    }
    if (!process.waitForFinished(milliseconds)) {
        process.kill();
        process.waitForFinished();
        outcome.end = ProbeOutcome::End::Hung;
        outcome.reason = fmt::format("`{}` is quarantined: it did not load within {} s.", file,
                                     milliseconds / 1000.0);
        return outcome;
    }
    if (process.exitStatus() == QProcess::CrashExit) {
        outcome.end = ProbeOutcome::End::Crashed;
        outcome.reason = fmt::format("`{}` is quarantined: it crashed while loading (signal {}).",
                                     file, process.exitCode());
        outcome.details = process.readAllStandardError().trimmed().toStdString();
        return outcome;
    }
    readAnswer(outcome, process.readAllStandardOutput(), process.readAllStandardError(), file);
    return outcome;
}

void keepVerdict(PluginDescriptor& descriptor, const ProbeOutcome& outcome)
{
    descriptor.reason = outcome.reason;
    descriptor.details = outcome.details;
    const bool isDangerous =
        outcome.end == ProbeOutcome::End::Crashed || outcome.end == ProbeOutcome::End::Hung;
    descriptor.state = isDangerous ? PluginState::Quarantined : PluginState::Refused;
    if (!isDangerous)
        return;
    try {
        QuarantineList::add(FileStamp::of(descriptor.path), outcome.reason);
    } catch (const IoError& error) {
        log("plugin").warn("The quarantine cannot be kept. {}", error.what());
    }
}

} // namespace

std::optional<json> PluginRegistry::probe(PluginDescriptor& descriptor,
                                          const std::filesystem::path& executable, int milliseconds)
{
    expects(milliseconds > 0, "probe: time limit above 0");
    if (descriptor.state != PluginState::Ready && descriptor.state != PluginState::Needs)
        return std::nullopt;
    const FileStamp stamp = FileStamp::of(descriptor.path);
    if (auto known = cachedDescription(stamp))
        return known;
    const ProbeOutcome outcome = runProbe(descriptor.path, executable, milliseconds);
    if (outcome.end != ProbeOutcome::End::Answered) {
        keepVerdict(descriptor, outcome);
        return std::nullopt;
    }
    cacheDescription(stamp, outcome.description);
    return outcome.description;
}

} // namespace vergence
