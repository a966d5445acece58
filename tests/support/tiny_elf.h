#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <elf.h>

namespace vergence::test {

/// The tables that the loader reads of a library (ELF of 64 bits), and nothing else: entries
/// DT_RPATH and DT_RUNPATH with their texts. Addresses are not places in the file.
inline std::string tinyElf(const std::vector<std::pair<int, std::string>>& paths)
{
    constexpr std::size_t kSegments = 2, kAddress = 0x1000;
    const std::size_t dynamic = sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr);
    const std::size_t texts = dynamic + (paths.size() + 2) * sizeof(Elf64_Dyn);
    std::string bytes(texts, '\0'), strings(1, '\0');
    const auto put = [&bytes](std::size_t at, const auto& part) {
        std::memcpy(bytes.data() + at, &part, sizeof part);
    };
    auto putEntry = [&, at = dynamic](int tag, std::size_t value) mutable {
        Elf64_Dyn entry{};
        entry.d_tag = tag;
        entry.d_un.d_val = value;
        put(at, entry);
        at += sizeof entry;
    };
    for (const auto& [tag, text] : paths) {
        putEntry(tag, strings.size());
        strings += text + '\0';
    }
    putEntry(DT_STRTAB, kAddress + texts);
    putEntry(DT_NULL, 0);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phnum = kSegments;
    put(0, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_vaddr = kAddress;
    segment.p_filesz = texts + strings.size();
    put(sizeof header, segment);
    segment.p_type = PT_DYNAMIC;
    segment.p_offset = dynamic;
    put(sizeof header + sizeof segment, segment);
    return bytes + strings;
}

} // namespace vergence::test
