#include "tests/support/cuda_emulation/engine/findings.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/cuda_emulation/engine/access_checker.h"
#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::emulation {

namespace {

constexpr int kExitWithFindings = 86;

struct Findings {
    std::vector<Finding> all;
    std::map<std::string, std::size_t> known; ///< kind, place and kernel → number in `all`
    std::string kernel;
};

/// Never destroyed: other files report until the process has ended.
Findings& findings()
{
    static auto* all = new Findings;
    return *all;
}

/// One write, so that lines of several processes do not mix.
void appendToReport(const std::string& line)
{
    const std::string& path = settings().reportFile;
    if (path.empty())
        return;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        std::perror(path.c_str());
    if (file >= 0)
        close(file);
}

void announce(const Finding& finding)
{
    const std::string where = finding.kernel.empty() ? "the host" : finding.kernel;
    const std::string line = "EMULATED " + finding.kind + " at " + finding.where + " in " + where +
                             ": " + finding.text + "\n";
    std::fputs(line.c_str(), stderr);
    appendToReport(line);
}

/// What addr2line -i prints: the line and, where that was inlined, those that it was inlined at.
std::vector<std::string> linesFrom(std::FILE* pipe)
{
    std::vector<std::string> all;
    char line[4096];
    while (std::fgets(line, sizeof(line), pipe)) {
        line[std::strcspn(line, " \n")] = '\0'; // what follows a space is "(discriminator 1)"
        if (line[0] != '?' && !std::strstr(line, ":?"))
            all.emplace_back(line);
    }
    return all;
}

std::string quotedForShell(const char* text)
{
    std::string quoted = "'";
    for (; *text; ++text)
        quoted += *text == '\'' ? std::string("'\\''") : std::string(1, *text);
    return quoted + "'";
}

std::vector<std::string> lookUp(const void* instruction)
{
    Dl_info info{};
    if (!dladdr(instruction, &info) || !info.dli_fname)
        return {"?"};
    char offset[32];
    const auto* base = static_cast<const char*>(info.dli_fbase);
    // a call returns behind itself, which may be another line
    std::snprintf(offset, sizeof(offset), "0x%tx",
                  static_cast<const char*>(instruction) - base - 1);
    const std::string command =
        "addr2line -i -e " + quotedForShell(info.dli_fname) + " " + offset + " 2>/dev/null";
    std::vector<std::string> lines;
    if (std::FILE* pipe = popen(command.c_str(), "r")) {
        lines = linesFrom(pipe);
        pclose(pipe);
    }
    if (lines.empty())
        lines.push_back(std::string(info.dli_fname) + "+" + offset);
    return lines;
}

/// Innermost first.
const std::vector<std::string>& linesOf(const void* instruction)
{
    static auto* known = new std::map<const void*, std::vector<std::string>>;
    auto& lines = (*known)[instruction];
    if (lines.empty())
        lines = lookUp(instruction);
    return lines;
}

/// What lies between a kernel and the engine is of no interest.
bool isOfLaunch(const std::string& line)
{
    return line.starts_with("/usr/") || line.find("/engine_calls.h:") != std::string::npos;
}

std::string findCallers(const void* instruction)
{
    void* frames[64];
    const int count = backtrace(frames, std::size(frames));
    void** const end = frames + count;
    std::string text;
    for (void** frame = std::find(frames, end, instruction); frame != end; ++frame) {
        const auto& lines = linesOf(*frame);
        for (std::size_t i = *frame == instruction ? 1 : 0; i < lines.size(); ++i) {
            if (isOfLaunch(lines[i]))
                return text;
            text += (text.empty() ? "; called at " : " < ") + lines[i];
        }
    }
    return text;
}

/// Behind the destructors of all objects, so that they still do their work.
__attribute__((destructor)) void endWithFindings()
{
    if (findings().all.empty())
        return;
    std::fflush(nullptr);
    _exit(kExitWithFindings);
}

} // namespace

void report(const char* kind, const std::string& where, const std::string& text)
{
    const Unwatched pause;
    const std::lock_guard guard(deviceLock());
    auto& [all, known, kernel] = findings();
    const auto [found, isNew] =
        known.try_emplace(std::string(kind) + '\n' + where + '\n' + kernel, all.size());
    if (isNew) {
        all.push_back({kind, where, kernel, text, 0});
        announce(all.back());
    }
    ++all[found->second].count;
}

void report(const char* kind, Site site, const std::string& text)
{
    const Unwatched pause;
    report(kind, textOf(site), text);
}

void report(const char* kind, Site site, const char* text)
{
    const Unwatched pause;
    report(kind, textOf(site), text);
}

std::vector<Finding> takeFindings()
{
    const std::lock_guard guard(deviceLock());
    findings().known.clear();
    return std::exchange(findings().all, {});
}

void setRunningKernel(std::string name)
{
    findings().kernel = std::move(name);
}

std::string textOf(Site site)
{
    return std::string(site.file) + ":" + std::to_string(site.line);
}

std::string placeOf(const void* instruction)
{
    const std::lock_guard guard(deviceLock());
    return linesOf(instruction).front();
}

std::string callersOf(const void* instruction)
{
    const std::lock_guard guard(deviceLock());
    static auto* known = new std::map<const void*, std::string>;
    const auto [found, isNew] = known->try_emplace(instruction);
    if (isNew)
        found->second = findCallers(instruction);
    return found->second;
}

} // namespace vergence::emulation
