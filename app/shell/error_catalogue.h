#pragma once

#include <optional>
#include <vector>

#include "app/shell/error_card.h"
#include "app/shell/run_entry.h"
#include "core/config/issue.h"
#include "core/plugin/lab_inspector.h"

namespace vergence {

/// The card of a run that ended badly or was lost; nothing for runs that are well. `lastLines`: end
/// of its log.
std::optional<CardContent> cardForRun(const RunEntry& run, const QStringList& lastLines);
/// The card of a problem that a live run raised; nothing where a row in Problems is enough.
std::optional<CardContent> cardForProblem(const QString& id, const QString& sentence);
/// The card of a configuration that was not taken.
CardContent cardForConfig(const QString& source, const std::vector<ConfigIssue>& issues);
/// The card of data that a run could not begin with; nothing where it could. Buttons:
/// "continue_without" (the remedy), "open_file" (the first place), "choose_folder", "problems".
std::optional<CardContent> cardForData(const DataReport& report);

/// The card of something that was asked for and cannot be done.
CardContent cardForRefusal(const QString& id, const QString& sentence);
/// The same for what a cluster did not take. Buttons: "targets".
CardContent cardForCluster(const QString& sentence);

/// Step of the newest complete checkpoint; nothing where there is none.
std::optional<std::int64_t> newestCheckpointStep(const RunFolder& folder);

} // namespace vergence
