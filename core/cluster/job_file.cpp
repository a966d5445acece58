#include "core/cluster/job_file.h"

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

/// -1 for null and nothing.
int jobTask(const nlohmann::json& json, const std::string& file)
{
    constexpr std::int64_t kMost = 10'000'000; // Slurm's own limit of MaxArraySize is 4,000,001
    const auto found = json.find("task");
    if (found == json.end() || found->is_null())
        return -1;
    const bool isTask = found->is_number_integer() && found->get<std::int64_t>() >= 0 &&
                        found->get<std::int64_t>() <= kMost;
    if (!isTask)
        throw InputError(fmt::format("{} is damaged: `task` must be a number of a task.", file));
    return found->get<int>();
}

/// Files of before there were lanes do not say it.
Scheduler jobScheduler(const nlohmann::json& json, const std::string& file)
{
    if (!json.contains("scheduler"))
        return Scheduler::Slurm;
    if (const auto scheduler = enumOf<Scheduler>(requiredText(json, "scheduler", file)))
        return *scheduler;
    throw InputError(fmt::format("{} is damaged: `scheduler` must be slurm or lanes.", file));
}

} // namespace

std::string Job::slurmId() const
{
    return task < 0 ? id : fmt::format("{}_{}", id, task);
}

std::filesystem::path jobFile(const RunFolder& folder)
{
    return folder.root / "job.json";
}

std::filesystem::path jobScript(const RunFolder& folder)
{
    return folder.root / "job.sh";
}

std::optional<Job> readJob(const RunFolder& folder)
{
    std::error_code code;
    if (!std::filesystem::exists(jobFile(folder), code))
        return std::nullopt;
    const std::string file = jobFile(folder).string();
    const nlohmann::json json = parseJson(readFile(file), file);
    if (!json.is_object())
        throw InputError(fmt::format("{} is damaged: it is not a JSON object.", file));
    Job job;
    job.target = requiredText(json, "target", file);
    job.login = requiredText(json, "login", file);
    job.id = requiredText(json, "id", file);
    job.task = jobTask(json, file);
    job.scheduler = jobScheduler(json, file);
    // Both become arguments of programs.
    if (job.login.starts_with('-'))
        throw InputError(fmt::format("{} is damaged: `login` must be a computer.", file));
    if (job.id.empty() || job.id.find_first_not_of("0123456789") != std::string::npos)
        throw InputError(fmt::format("{} is damaged: `id` must be the number of a job.", file));
    return job;
}

void writeJob(const RunFolder& folder, const Job& job)
{
    nlohmann::json json = {{"target", job.target}, {"login", job.login}, {"id", job.id}};
    json["scheduler"] = nameOf(job.scheduler);
    json["task"] = job.task < 0 ? nlohmann::json() : nlohmann::json(job.task);
    writeFileAtomic(jobFile(folder), prettyJson(json));
}

} // namespace vergence
