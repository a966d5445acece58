#include "core/cluster/slurm_refusal.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/slurm_command.h"

namespace vergence::detail {

namespace {

/// Words of a command that answers with some; empty where it does not.
std::string answerOf(const Target& target, const std::vector<std::string>& command)
{
    try {
        return askSlurm(target.login, command).output;
    } catch (const InputError&) {
        return {}; // the refusal is what people must hear
    }
}

std::string partitionText(const Target& target)
{
    std::string names = answerOf(target, {"sinfo", "-h", "-o", "%R"});
    names.erase(names.find_last_not_of('\n') + 1);
    std::string list;
    for (const char c : names)
        c == '\n' ? list += ", " : list += c;
    return fmt::format("The cluster has no partition `{}`.{} Correct `partition`.",
                       target.partition, list.empty() ? "" : fmt::format(" It has: {}.", list));
}

/// The number behind `MaxArraySize`, with words around it.
std::string arrayText(const Target& target)
{
    const std::string settings = answerOf(target, {"scontrol", "show", "config"});
    const std::size_t at = settings.find("MaxArraySize");
    const std::size_t digits =
        at == std::string::npos ? at : settings.find_first_of("0123456789", at);
    const std::string number =
        digits == std::string::npos
            ? std::string()
            : settings.substr(digits, settings.find_first_not_of("0123456789", digits) - digits);
    return fmt::format("The cluster takes fewer runs in one submission{}. Submit them in parts.",
                       number.empty() ? "" : fmt::format(" (MaxArraySize is {})", number));
}

/// What sbatch says, and the sentence for people.
struct Refusal {
    const char* said;
    std::string (*text)(const Target& target);
};

// In this order: Slurm gives a limit of jobs and one of their time the same words, among others.
const Refusal kRefusals[] = {
    {"Job violates accounting/QOS policy",
     [](const Target&) {
         return std::string("You may not have so many jobs, or so much at a time, in this queue. "
                            "Submit fewer runs, or later.");
     }},
    {"nvalid partition", &partitionText},
    {"nvalid account",
     [](const Target& target) {
         return target.account.empty()
                    ? std::string("The cluster wants an account, or your default one may not use "
                                  "this partition. Set `account`.")
                    : fmt::format("The account `{}` may not use the partition, or does not exist. "
                                  "Correct `account`; `sacctmgr show associations user=$USER` "
                                  "names yours.",
                                  target.account);
     }},
    {"nvalid qos",
     [](const Target& target) {
         return fmt::format("The quality of service `{}` is not open to you. Correct `qos`.",
                            target.qos);
     }},
    {"time limit",
     [](const Target& target) {
         if (target.time.empty())
             return std::string("The cluster wants to know how long a job takes. Set `time`.");
         return fmt::format("The time {} is longer than the partition allows. Set a shorter "
                            "`time`; a run that needs longer goes back into the queue.",
                            target.time);
     }},
    {"nvalid feature",
     [](const Target& target) {
         return fmt::format("No node has the features `{}`. Correct `constraint`.",
                            target.constraint);
     }},
    {"nvalid generic resource",
     [](const Target& target) {
         return fmt::format("The cluster has no `{}`. Correct `gpus`.", target.gpus);
     }},
    {"node configuration is not available",
     [](const Target&) {
         return std::string("No node of the partition has what the target asks for. Ask for fewer "
                            "of `gpus`, `cores` and `memory`, or for another `partition`.");
     }},
    {"can not be satisfied",
     [](const Target& target) {
         return fmt::format("No node has {} of memory. Ask for less `memory`.", target.memory);
     }},
    {"not permitted to use this partition",
     [](const Target& target) {
         return fmt::format("The partition `{}` is not open to you. Choose another `partition`.",
                            target.partition);
     }},
    {"job array specification", &arrayText},
};

bool contains(const std::string& text, const std::string& part)
{
    const auto isSame = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    };
    return std::search(text.begin(), text.end(), part.begin(), part.end(), isSame) != text.end();
}

} // namespace

std::string refusalText(const Target& target, const CommandResult& result)
{
    for (const Refusal& refusal : kRefusals)
        if (contains(result.errors, refusal.said))
            return fmt::format("Slurm takes no such job. {}", refusal.text(target));
    return fmt::format("Slurm takes no such job: {}.", slurmWords(result));
}

} // namespace vergence::detail
