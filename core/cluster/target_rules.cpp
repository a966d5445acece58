#include "core/cluster/target_rules.h"

#include <algorithm>
#include <array>
#include <regex>

#include <fmt/format.h>

#include "core/config/rule_issues.h"

namespace vergence::detail {

namespace {

using Issues = std::vector<ConfigIssue>;

bool hasControlCharacter(const std::string& text)
{
    return std::ranges::any_of(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// Text with a grammar of Slurm's.
struct Grammar {
    const char* key;
    std::string Target::*member;
    const char* pattern;
    const char* expectation; ///< "partition must be …"
};

const std::array<Grammar, 6>& grammars()
{
    static const std::array<Grammar, 6> list{{
        {"login", &Target::login, "[^-\\s][^\\s]*", "a computer as ssh takes it, like user@login"},
        {"partition", &Target::partition, "[A-Za-z0-9_.+-]+(,[A-Za-z0-9_.+-]+)*",
         "the name of a partition, or several with commas between them"},
        {"account", &Target::account, "[A-Za-z0-9_.@:+][A-Za-z0-9_.@:+-]*",
         "the name of an account of the cluster"},
        {"qos", &Target::qos, "[A-Za-z0-9_.@:+][A-Za-z0-9_.@:+-]*",
         "the name of a quality of service"},
        {"memory", &Target::memory, "[0-9]+[KMGTkmgt]?",
         "a number and its unit, K, M, G or T, like 16G"},
        {"gpus", &Target::gpus,
         "[A-Za-z0-9_]+(:[A-Za-z0-9_.+-]+)*(,[A-Za-z0-9_]+(:[A-Za-z0-9_.+-]+)*)*",
         "as --gres of sbatch takes it, like gpu:1 or gpu:a100:2"},
    }};
    return list;
}

void checkGrammars(const Target& target, Issues& issues)
{
    for (const Grammar& grammar : grammars()) {
        const std::string& text = target.*grammar.member;
        if (!text.empty() && !std::regex_match(text, std::regex(grammar.pattern)))
            issues.push_back(
                ruleError(grammar.key, fmt::format("{} must be {} (found {}).", grammar.key,
                                                   grammar.expectation, toToml(text))));
    }
}

void checkFreeText(const Target& target, Issues& issues)
{
    for (const auto& [key, text] :
         {std::pair{"folder", &target.folder}, std::pair{"program", &target.vergence},
          std::pair{"constraint", &target.constraint}}) {
        if (hasControlCharacter(*text))
            issues.push_back(ruleError(
                key, fmt::format("{} must be one line without control characters.", key)));
    }
    if (!target.folder.empty() && !std::filesystem::path(target.folder).is_absolute())
        issues.push_back(ruleError(
            "folder", fmt::format("folder must be a whole path from / on, for it is the same on "
                                  "every node (found {}).",
                                  toToml(target.folder))));
}

void checkTime(const Target& target, Issues& issues)
{
    constexpr int kSignalResolution = 60; // s; sbatch(1), --signal
    if (target.time.empty())
        return;
    const auto seconds = slurmSeconds(target.time);
    if (!seconds) {
        issues.push_back(ruleError(
            "time", fmt::format("time must be minutes, or hours:minutes:seconds with days- before "
                                "it where there are some, like 90, 4:00:00 or 1-12:00:00 (found "
                                "{}).",
                                toToml(target.time))));
    } else if (*seconds <= target.grace) {
        issues.push_back(ruleError(
            "time", fmt::format("time must be longer than grace ({} s): a job would save as soon "
                                "as it has begun (found {}).",
                                target.grace, target.time)));
    } else if (*seconds <= target.grace + kSignalResolution) {
        issues.push_back(ruleWarning(
            "time", fmt::format("time is hardly longer than grace ({} s), and Slurm may send its "
                                "signal a minute early: jobs would mostly wait.",
                                target.grace)));
    }
}

/// A computer with a disk of its own is not this one; lanes are devices, and Slurm has none.
void checkPlace(const Target& target, Issues& issues)
{
    static const std::regex kDevice("cpu|cuda(:[0-9]{1,3})?|GPU-[0-9a-f-]{4,36}");
    for (const std::string& lane : target.lanes)
        if (!std::regex_match(lane, kDevice))
            issues.push_back(
                ruleError("lanes", fmt::format("lanes must hold devices, like cpu, cuda:0 or the "
                                               "UUID of a GPU (found {}).",
                                               toToml(lane))));
    if (target.scheduler == Scheduler::Slurm && !target.lanes.empty())
        issues.push_back(ruleError("lanes", "lanes must be empty where Slurm decides; `at_once` "
                                            "limits how many runs work at a time."));
    if (target.disk == Disk::Own && target.login.empty())
        issues.push_back(ruleError("login", "login must name the computer whose disk the runs are "
                                            "on; with disk = \"shared\" it may be this one."));
}

/// What the script of a job rests on, and what would keep it from the queue. Options may be
/// abbreviated.
bool isOfTheScript(const std::string& option)
{
    static constexpr std::array kOwn{"--array",      "--error",     "--input",  "--job-name",
                                     "--no-requeue", "--open-mode", "--output", "--parsable",
                                     "--signal",     "--test-only", "--wait",   "--wrap"};
    return std::ranges::any_of(kOwn,
                               [&](const std::string& own) { return own.starts_with(option); });
}

void checkExtra(const Target& target, Issues& issues)
{
    static const std::regex kOption("--[a-z][a-z0-9-]*(=.*)?");
    for (const std::string& option : target.extra) {
        if (hasControlCharacter(option) || !std::regex_match(option, kOption))
            issues.push_back(ruleError(
                "extra", fmt::format("extra must hold long options of sbatch, each one line, like "
                                     "--exclusive or --mail-type=END (found {}).",
                                     toToml(option))));
        else if (isOfTheScript(option.substr(0, option.find('='))))
            issues.push_back(ruleError(
                "extra", fmt::format("extra must leave {} to the studio, whose jobs rest on it.",
                                     option.substr(0, option.find('=')))));
    }
}

} // namespace

std::optional<long> slurmSeconds(const std::string& time)
{
    static const std::regex kTime("(?:(\\d{1,4})-(\\d{1,4})(?::(\\d{1,4}))?(?::(\\d{1,4}))?)|(\\d{"
                                  "1,7})(?::(\\d{1,4}))?(?::(\\d{1,4}))?");
    std::smatch match;
    if (!std::regex_match(time, match, kTime))
        return std::nullopt;
    const auto part = [&match](int i) { return match[i].matched ? std::stol(match[i]) : 0; };
    if (match[1].matched)
        return ((part(1) * 24 + part(2)) * 60 + part(3)) * 60 + part(4);
    if (match[7].matched)
        return (part(5) * 60 + part(6)) * 60 + part(7);
    return part(5) * 60 + part(6);
}

std::vector<ConfigIssue> targetIssues(const Target& target)
{
    Issues issues;
    checkPlace(target, issues);
    checkGrammars(target, issues);
    checkFreeText(target, issues);
    checkTime(target, issues);
    checkExtra(target, issues);
    return issues;
}

} // namespace vergence::detail
