#include "core/cluster/library_path.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include <elf.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::detail {

namespace {

/// Where a file says what the loader shall look through: the entry, and its text.
struct PathPlace {
    std::uint64_t entry = 0, text = 0; ///< from the beginning of the file
    std::size_t room = 0;              ///< bytes of the text
};

/// The tables of an ELF file that its loader reads.
class ElfFile {
public:
    explicit ElfFile(const std::filesystem::path& file)
        : m_name(file.string()),
          m_bytes(readFile(file))
    {
        const auto header = at<Elf64_Ehdr>(0);
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != ELFCLASS64)
            fail();
        for (unsigned i = 0; i < header.e_phnum; ++i)
            m_segments.push_back(at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
    }

    std::vector<PathPlace> paths() const
    {
        std::vector<PathPlace> places;
        std::uint64_t texts = 0;
        for (std::uint64_t place = dynamicTable(); place != 0; place += sizeof(Elf64_Dyn)) {
            const auto entry = at<Elf64_Dyn>(place);
            if (entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == DT_STRTAB)
                texts = offsetOf(entry.d_un.d_ptr);
            else if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
                places.push_back({place, entry.d_un.d_val, 0});
        }
        for (PathPlace& place : places) {
            place.text += texts;
            const std::size_t end =
                place.text < m_bytes.size() ? m_bytes.find('\0', place.text) : m_bytes.npos;
            if (end == m_bytes.npos)
                fail();
            place.room = end - place.text;
        }
        return places;
    }

private:
    [[noreturn]] void fail() const
    {
        throw InputError(fmt::format("{} is no program or library of this system.", m_name));
    }
    template <class Part>
    Part at(std::uint64_t offset) const
    {
        if (offset > m_bytes.size() || m_bytes.size() - offset < sizeof(Part))
            fail();
        Part part;
        std::memcpy(&part, m_bytes.data() + offset, sizeof part);
        return part;
    }
    /// 0 where the file loads nothing.
    std::uint64_t dynamicTable() const
    {
        const auto found = std::ranges::find(m_segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
        return found == m_segments.end() ? 0 : found->p_offset;
    }
    /// Of what will lie at an address.
    std::uint64_t offsetOf(std::uint64_t address) const
    {
        for (const Elf64_Phdr& segment : m_segments)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return address - segment.p_vaddr + segment.p_offset;
        fail();
    }

    std::string m_name, m_bytes;
    std::vector<Elf64_Phdr> m_segments;
};

} // namespace

bool setLibraryPath(const std::filesystem::path& file, const std::string& folders)
{
    const std::vector<PathPlace> places = ElfFile(file).paths();
    const bool fits = std::ranges::all_of(
        places, [&folders](const PathPlace& place) { return folders.size() <= place.room; });
    if (!fits || (places.empty() && !folders.empty()))
        return false;
    if (places.empty())
        return true;
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    for (const PathPlace& place : places) {
        const decltype(Elf64_Dyn::d_tag) tag = DT_RPATH;
        std::string text = folders;
        text.resize(place.room);
        stream.seekp(static_cast<std::streamoff>(place.entry));
        stream.write(reinterpret_cast<const char*>(&tag), sizeof tag);
        stream.seekp(static_cast<std::streamoff>(place.text));
        stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    }
    stream.close();
    if (stream.fail())
        throw OutputError(fmt::format("{} cannot be written.", file.string()));
    return true;
}

} // namespace vergence::detail
