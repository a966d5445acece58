#pragma once

#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "tests/support/fake_programs.h"
#include "tests/support/tiny_elf.h"

namespace vergence::test {

/// A build of the studio as far as copying it goes: its files say where they look for libraries,
/// and nothing else. `ldd` knows what they load.
class FakeStudio {
public:
    explicit FakeStudio(FakePrograms& programs)
    {
        add("bin/vergence");
        add("lib/libvergence_compute.so");
        const std::string compute = (root() / "lib/libvergence_compute.so").string();
        std::filesystem::create_directories(root() / "system");
        writeFileAtomic(root() / "system/libthing.so.2.1", tinyElf({}));
        std::filesystem::create_symlink("libthing.so.2.1", root() / "system/libthing.so.2");
        programs.add("ldd", "printf '\\tlinux-vdso.so.1 (0x7ffd)\\n\\t/lib64/ld-linux-x86-64.so.2 "
                            "(0x7f)\\n\\tlibc.so.6 => /lib/libc.so.6 (0x7f)\\n\\tlibcuda.so.1 => "
                            "not found\\n'\n"
                            "printf '\\tlibthing.so.2 => " +
                                (root() / "system/libthing.so.2").string() +
                                " (0x7f)\\n\\tlibvergence_compute.so => " + compute +
                                " (0x7f)\\n'\n"
                                "if [ -f \"$1.lacks\" ]; then printf '\\tliblost.so.1 => not "
                                "found\\n'; fi");
    }

    std::filesystem::path root() const { return m_folder.path(); }
    std::filesystem::path program() const { return root() / "bin/vergence"; }
    void add(const std::string& name, const std::string& path = "/build/of/somebody/lib:") const
    {
        std::filesystem::create_directories((root() / name).parent_path());
        writeFileAtomic(root() / name, tinyElf({{DT_RUNPATH, path}}));
        std::filesystem::permissions(root() / name, std::filesystem::perms::owner_all);
    }
    /// From now on the loader does not find a library of this file.
    void takeLibraryOf(const std::string& name) const
    {
        writeFileAtomic(root() / (name + ".lacks"), "");
    }

private:
    Scratch m_folder;
};

/// The other computer is this one, by a fake ssh, with a home of its own. `started`: what happens
/// where `vergence --version` is started there; `before`: what its shell does first.
inline void addComputer(FakePrograms& programs, const std::filesystem::path& home,
                        const std::string& started, const std::string& before = {})
{
    programs.addSsh();
    const std::string ssh = programs.text("ssh");
    const std::size_t line = ssh.find('\n') + 1;
    writeFileAtomic(programs.folder() / "ssh", ssh.substr(0, line) + "export HOME='" +
                                                   home.string() + "'\n" + before +
                                                   "\ncase \"$*\" in *'/vergence --version')\n" +
                                                   started + "\nexit;; esac\n" + ssh.substr(line));
    std::filesystem::permissions(programs.folder() / "ssh", std::filesystem::perms::owner_all);
}

} // namespace vergence::test
