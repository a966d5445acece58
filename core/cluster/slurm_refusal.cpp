#include "core/cluster/slurm_refusal.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/slurm_partitions.h"

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

/// What the target asks for, and where it does.
struct Wish {
    std::string value;
    std::string place; ///< "`gpus`", "`--gpus=1` in `extra`"
};

/// Of a setting, or of an option in `extra` that says the same, perhaps abbreviated: sbatch reads
/// that one last. Without a value where the target has neither.
Wish wishOf(const Target& target, const char* key, const std::string& value,
            std::initializer_list<const char*> options)
{
    for (const std::string& option : target.extra) {
        const std::size_t equals = std::min(option.find('='), option.size());
        for (const char* name : options)
            if (std::string_view(name).starts_with(option.substr(0, equals)))
                return {option.substr(std::min(equals + 1, option.size())),
                        fmt::format("`{}` in `extra`", option)};
    }
    return {value, fmt::format(fmt::runtime(value.empty() ? "`{}` or `extra`" : "`{}`"), key)};
}

/// An environment variable of sbatch may ask for something, too.
std::string nameOf(const Wish& wish)
{
    return wish.value.empty() ? "that the job asks for" : fmt::format("`{}`", wish.value);
}

Wish partitionWish(const Target& target)
{
    return wishOf(target, "partition", target.partition, {"--partition"});
}

/// " It has: all, long."
std::string knownPartitions(const Target& target)
{
    std::string names = answerOf(target, {"sinfo", "-h", "-o", "%R"});
    names.erase(names.find_last_not_of('\n') + 1);
    std::string list;
    for (const char c : names)
        c == '\n' ? list += ", " : list += c;
    return list.empty() ? "" : fmt::format(" It has: {}.", list);
}

std::string partitionText(const Target& target)
{
    const Wish wish = partitionWish(target);
    return fmt::format("The cluster has no partition {}.{} Correct {}.", nameOf(wish),
                       knownPartitions(target), wish.place);
}

std::string closedPartitionText(const Target& target)
{
    const Wish wish = partitionWish(target);
    if (wish.value.empty())
        return "The default partition is not open to you. Set another `partition`.";
    return fmt::format("The partition `{}` is not open to you. Choose another {}.", wish.value,
                       wish.place);
}

std::string accountText(const Target& target)
{
    const Wish wish = wishOf(target, "account", target.account, {"--account"});
    if (wish.value.empty())
        return "The cluster wants an account, or your default one may not use this partition. Set "
               "`account`.";
    return fmt::format("The account `{}` may not use the partition, or does not exist. Correct {}; "
                       "`sacctmgr show associations user=$USER` names yours.",
                       wish.value, wish.place);
}

std::string qosText(const Target& target)
{
    const Wish wish = wishOf(target, "qos", target.qos, {"--qos"});
    return fmt::format("The quality of service {} is not open to you. Correct {}.", nameOf(wish),
                       wish.place);
}

std::string timeText(const Target& target)
{
    const Wish wish = wishOf(target, "time", target.time, {"--time"});
    if (wish.value.empty())
        return "The cluster wants to know how long a job takes. Set `time`.";
    return fmt::format("The time {} is longer than the partition allows. Set a shorter {}; a run "
                       "that needs longer goes back into the queue.",
                       wish.value, wish.place);
}

std::string featuresText(const Target& target)
{
    const Wish wish = wishOf(target, "constraint", target.constraint, {"--constraint"});
    return fmt::format("No node has the features {}. Correct {}.", nameOf(wish), wish.place);
}

/// The options of `extra` count GPUs in ways of their own: "--gpus=1", "--gpus-per-task=a100:1".
std::string gpusText(const Target& target)
{
    const Wish wish =
        wishOf(target, "gpus", target.gpus,
               {"--gpus", "--gpus-per-node", "--gpus-per-socket", "--gpus-per-task", "--gres"});
    if (wish.value.empty() || wish.value != target.gpus)
        return fmt::format("The cluster has no such GPUs. Correct {}.", wish.place);
    return fmt::format("The cluster has no `{}`. Correct {}.", wish.value, wish.place);
}

std::string memoryText(const Target& target)
{
    const Wish wish =
        wishOf(target, "memory", target.memory, {"--mem", "--mem-per-cpu", "--mem-per-gpu"});
    if (wish.value.empty())
        return "No node has so much memory for so many cores. Set `memory`, or fewer `cores`.";
    return fmt::format("No node has {} of memory. Ask for less in {}.", wish.value, wish.place);
}

/// Of the largest node that the job may go to; 0 where the cluster does not tell.
int mostCores(const Target& target)
{
    int most = 0;
    try {
        for (const Partition& partition : partitionsOf(target))
            most = std::max(most, partition.cores);
    } catch (const InputError&) {
        // the refusal is what people must hear
    }
    return most;
}

std::string coresText(const Target& target)
{
    const Wish wish =
        wishOf(target, "cores", target.cores == 0 ? std::string() : std::to_string(target.cores),
               {"--cpus-per-task", "--ntasks", "--ntasks-per-node", "--mincpus"});
    const int most = mostCores(target);
    return fmt::format("No node of the partition has so many cores{}. Correct {}.",
                       most == 0 ? "" : fmt::format(" (the largest has {})", most), wish.place);
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
    {"system default partition",
     [](const Target& target) {
         return fmt::format("The cluster has no default partition.{} Set `partition`.",
                            knownPartitions(target));
     }},
    {"nvalid partition", &partitionText},
    {"nvalid account", &accountText},
    {"nvalid qos", &qosText},
    {"time limit", &timeText},
    {"nvalid feature", &featuresText},
    {"nvalid generic resource", &gpusText},
    {"More processors requested than permitted", &coresText},
    {"node configuration is not available",
     [](const Target&) {
         return std::string("No node of the partition has what the target asks for. Ask for fewer "
                            "of `gpus`, `cores` and `memory`, or for another `partition`.");
     }},
    {"can not be satisfied", &memoryText},
    {"not permitted to use this partition", &closedPartitionText},
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
