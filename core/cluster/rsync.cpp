#include "core/cluster/rsync.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/shell.h"

namespace vergence::detail {

namespace {

constexpr double kRsyncPatience = 86'400;      ///< s; who waits for nothing ends by itself before
constexpr const char* kStall = "--timeout=20"; ///< s without a byte

// Codes of rsync(1).
constexpr int kVanished = 24, kNotFoundThere = 127;
constexpr int kStalled[] = {30, 35};
constexpr int kSshFailure = 255; // ssh(1)

// Numbers of errors, which are the same on every Linux.
constexpr int kGone = 2, kForbidden = 13;
constexpr int kLinkErrors[] = {32, 104}; ///< a pipe or a connection that the other end has closed
struct DiskTrouble {
    int number;
    const char* words;
    const char* advice;
    bool isFull;
};
constexpr DiskTrouble kDiskTroubles[] = {
    {28, "the disk is full", "Make room there", true},
    {122, "the quota is used up", "Make room there, or ask for more", true},
    {kForbidden, "permission is denied", "Change the rights of the folder, or choose another",
     false},
    {30, "the disk is read-only", "Choose another folder", false},
};

/// A line "rsync: [sender] opendir "/x" failed: Permission denied (13)".
struct RsyncComplaint {
    std::string words; ///< without "rsync: [sender] "
    int number = 0;    ///< of the error; 0: none is told
    bool isOfReader = true;
};

int numberAtEnd(const std::string& line)
{
    const std::size_t at = line.rfind(" (");
    return at == std::string::npos || !line.ends_with(')') ? 0 : std::atoi(line.c_str() + at + 2);
}

std::optional<RsyncComplaint> complaintOf(const std::string& line)
{
    constexpr const char* kBegin = "rsync: ";
    if (!line.starts_with(kBegin))
        return std::nullopt;
    RsyncComplaint complaint{line.substr(7), numberAtEnd(line)};
    const auto* trouble = std::ranges::find(kDiskTroubles, complaint.number, &DiskTrouble::number);
    complaint.isOfReader = trouble == std::end(kDiskTroubles) || trouble->number == kForbidden;
    const std::size_t end = complaint.words.find("] ");
    if (complaint.words.starts_with('[') && end != std::string::npos) {
        complaint.isOfReader = complaint.words.starts_with("[sender]");
        complaint.words.erase(0, end + 2);
    }
    return complaint;
}

/// What rsync complains of, and what others (ssh, a shell) have said.
struct RsyncErrors {
    std::vector<RsyncComplaint> complaints;
    std::string ofOthers;
};

RsyncErrors errorsIn(const std::string& text)
{
    RsyncErrors errors;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r'))
            line.pop_back();
        if (auto complaint = complaintOf(line))
            errors.complaints.push_back(std::move(*complaint));
        else if (!line.starts_with("rsync error: "))
            errors.ofOthers += line + '\n';
    }
    return errors;
}

std::vector<std::string> wordsOf(const RsyncCall& call)
{
    // rsync's own notion of a host knows no ports and no end of options, so ssh has the login
    // already; in its place stands the first word of the command there.
    const std::string here = (call.here / "").string();
    const std::string there = "exec:" + (call.there / "").string();
    // Names are never parsed there (s). Times of folders mean nothing (O). A file that changes
    // twice within a second and keeps its size has changed (modify-window).
    std::vector<std::string> words{
        "rsync", "-rstO",          "--modify-window=-1", "--from0",
        kStall,  "--files-from=-", "--no-implied-dirs",  "--out-format=%n"};
    words.insert(words.end(), call.options.begin(), call.options.end());
    words.insert(words.end(), {"-e", sshCommandLine(call.login)});
    if (call.sends)
        words.insert(words.end(), {here, there});
    else
        words.insert(words.end(), {there, here});
    return words;
}

/// rsync prints what is no letter as \#012.
std::string printedName(const std::string& line)
{
    std::string name;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string digits = line.compare(i, 2, "\\#") == 0 ? line.substr(i + 2, 3) : "";
        const bool isCode =
            digits.size() == 3 && digits.find_first_not_of("01234567") == std::string::npos;
        name += isCode ? static_cast<char>(std::strtol(digits.c_str(), nullptr, 8)) : line[i];
        i += isCode ? 4 : 0;
    }
    return name;
}

std::vector<std::string> copiedNames(const std::string& output)
{
    std::vector<std::string> names;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("deleting "))
            names.push_back(printedName(line));
    return names;
}

bool isOfLink(const RsyncComplaint& complaint)
{
    return std::ranges::count(kLinkErrors, complaint.number) > 0 ||
           complaint.words.starts_with("connection unexpectedly closed");
}

/// Why the connection ended; in one case as in the other, since which of both sides rsync hears
/// first decides its words and its code.
std::string whyNoLink(const std::string& login, const RsyncErrors& errors)
{
    CommandResult ofSsh;
    ofSsh.exitCode = kSshFailure;
    ofSsh.errors = errors.ofOthers;
    return lastLine(errors.ofOthers).empty() ? fmt::format("The connection to {} broke off.", login)
                                             : sshProblem(login, "rsync", ofSsh);
}

/// Empty where both sides have spoken with each other.
std::string whyNoTalk(const std::string& login, const CommandResult& result,
                      const RsyncErrors& errors)
{
    const auto says = [&](const char* words) {
        return result.errors.find(words) != std::string::npos;
    };
    if (result.isMissing)
        return "rsync is not on this computer. Install it: it copies runs that are elsewhere.";
    CommandResult ofSsh = result;
    ofSsh.isMissing = says("Failed to exec ssh");
    if (ofSsh.isMissing || !ofSsh.whyNot.empty())
        return sshProblem(login, "rsync", ofSsh);
    if (result.exitCode == kNotFoundThere || says("rsync: not found") || says("ommand not found"))
        return fmt::format("rsync is not on {}. Install it there: it copies runs.", login);
    if (says("is your shell clean"))
        return fmt::format("{} prints text in front of what programs answer. Remove that from "
                           "~/.bashrc there, or keep it for shells that somebody types into.",
                           login);
    if (std::ranges::count(kStalled, result.exitCode) > 0)
        return fmt::format("{} answers no more. Look whether it runs and the network reaches it.",
                           login);
    return result.exitCode == kSshFailure ? whyNoLink(login, errors) : std::string();
}

[[noreturn]] void throwTrouble(const RsyncCall& call, const RsyncComplaint& complaint,
                               const DiskTrouble& trouble)
{
    if (complaint.isOfReader)
        throw InputError(fmt::format("Runs {} cannot be read: {} ({}).",
                                     call.sends ? "here" : "on " + call.login, trouble.words,
                                     complaint.words));
    if (call.sends)
        throw InputError(fmt::format("{} takes nothing in {}: {}. {}.", call.login,
                                     call.there.string(), trouble.words, trouble.advice));
    throw OutputError(fmt::format("What is on {} cannot be copied to {}: {}. {}.", call.login,
                                  call.here.string(), trouble.words, trouble.advice),
                      trouble.isFull);
}

/// The disk as a reason goes before others: what it breaks complains, too.
void throwDiskTroubles(const RsyncCall& call, const std::vector<RsyncComplaint>& complaints)
{
    for (const RsyncComplaint& complaint : complaints) {
        const auto* trouble =
            std::ranges::find(kDiskTroubles, complaint.number, &DiskTrouble::number);
        if (trouble != std::end(kDiskTroubles))
            throwTrouble(call, complaint, *trouble);
    }
}

/// What is read may go; there, whole folders may.
bool isOfGone(const RsyncCall& call, const RsyncComplaint& complaint)
{
    const bool hasVanished = complaint.words.find("has vanished") != std::string::npos;
    return hasVanished || (complaint.number == kGone && (complaint.isOfReader || call.sends));
}

[[noreturn]] void throwUnknown(const RsyncCall& call, const CommandResult& result,
                               const RsyncErrors& errors, const RsyncComplaint* complaint)
{
    std::string words = complaint ? complaint->words : lastLine(errors.ofOthers);
    if (words.empty())
        words = lastLine(result.errors);
    const std::string text = fmt::format("Runs cannot be copied {} {}: {}.",
                                         call.sends ? "to" : "from", call.login, words);
    if (complaint && !call.sends && !complaint->isOfReader)
        throw OutputError(text);
    throw InputError(text);
}

RsyncEnd endOf(const RsyncCall& call, const CommandResult& result)
{
    RsyncEnd end{copiedNames(result.output), false};
    const bool isWhole = result.isGood() || result.exitCode == kVanished;
    if (isWhole && result.whyNot.empty())
        return end;
    const RsyncErrors errors = errorsIn(result.errors);
    if (const std::string why = whyNoTalk(call.login, result, errors); !why.empty())
        throw InputError(why);
    throwDiskTroubles(call, errors.complaints);
    bool isCut = false;
    for (const RsyncComplaint& complaint : errors.complaints) {
        if (isOfGone(call, complaint))
            end.hadGone = true;
        else if (isOfLink(complaint))
            isCut = true;
        else
            throwUnknown(call, result, errors, &complaint);
    }
    if (end.hadGone)
        return end;
    if (isCut)
        throw InputError(whyNoLink(call.login, errors));
    throwUnknown(call, result, errors, nullptr);
}

} // namespace

RsyncEnd callRsync(const RsyncCall& call)
{
    expects(call.here.is_absolute() && call.there.is_absolute(), "callRsync: whole paths");
    std::string names;
    for (const std::string& name : call.names)
        (names += "./" + name) += '\0'; // "./": no name is a comment or an option
    return endOf(call, Shell().run(wordsOf(call), names, kRsyncPatience));
}

std::string rsyncLiteral(const std::string& name)
{
    std::string literal;
    for (const char c : name) {
        if (std::string("*?[\\").find(c) != std::string::npos)
            literal += '\\';
        literal += c;
    }
    return literal;
}

} // namespace vergence::detail
