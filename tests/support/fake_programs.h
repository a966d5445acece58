#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <QDir>
#include <QFile>

#include "core/base/file.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

namespace vergence::test {

/// Programs of a test, first in PATH, in place of those of a cluster. Each notes its arguments.
class FakePrograms {
public:
    FakePrograms() : m_path("PATH", QByteArray(m_folder.path().c_str()) + ":" + qgetenv("PATH")) {}

    /// `body`: what it does, in the language of /bin/sh; `$FAKES` is the folder of all of them.
    void add(const std::string& name, const std::string& body = {})
    {
        const std::filesystem::path file = m_folder / name;
        writeFileAtomic(file, "#!/bin/sh\nFAKES='" + m_folder.path().string() +
                                  "'\n[ $# = 0 ] || printf '%s\\0' \"$@\" >>\"$FAKES/" + name +
                                  ".arguments\"\n" + body + "\n");
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    /// OpenSSH as far as it is used here: the words behind the host are one text for a shell.
    void addSsh()
    {
        add("ssh", "while :; do case $1 in --) shift; break;; -[Jilop]) shift 2;; -*) shift;;\n"
                   "*) break;; esac; done\nprintf '%s\\n' \"$1\" >>\"$FAKES/hosts\"\nshift\n"
                   "exec sh -c \"$*\"");
    }
    /// All arguments of all calls.
    std::vector<std::string> arguments(const std::string& name) const
    {
        std::vector<std::string> words;
        const std::string text = this->text(name + ".arguments");
        for (std::size_t begin = 0; begin < text.size();) {
            words.emplace_back(text.c_str() + begin);
            begin += words.back().size() + 1;
        }
        return words;
    }
    /// What a program wrote to a file of the folder; empty where there is none.
    std::string text(const std::string& file) const
    {
        std::error_code code;
        return std::filesystem::exists(m_folder / file, code) ? readFile(m_folder / file)
                                                              : std::string();
    }
    std::filesystem::path folder() const { return m_folder.path(); }

    /// From now on there is nothing in PATH but these programs and `tools`.
    void hideOthers(const std::vector<std::string>& tools)
    {
        for (const std::string& tool : tools)
            std::filesystem::create_symlink("/bin/" + tool, m_folder / tool);
        m_alone = std::make_unique<ScopedVariable>("PATH", QByteArray(m_folder.path().c_str()));
    }

private:
    Scratch m_folder;
    ScopedVariable m_path;
    std::unique_ptr<ScopedVariable> m_alone;
};

} // namespace vergence::test
