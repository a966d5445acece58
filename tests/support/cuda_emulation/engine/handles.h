#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/support/cuda_emulation/engine/findings.h"

namespace vergence::emulation {

/// What a program knows by handles of one kind. They are addresses that no processor has and that
/// are never given twice, so that a use after the end is told from a use of what came later.
template <class Thing>
class Handles {
public:
    /// `kind` tells handles of different things apart, `noun` names the thing in findings.
    Handles(std::uint8_t kind, const char* noun)
        : m_first(0x5eed'0000'0000'0000u + (std::uintptr_t{kind} << 40)),
          m_next(m_first),
          m_noun(noun)
    {
    }

    void* add(std::shared_ptr<Thing> thing)
    {
        m_next += kStep;
        m_live[m_next] = std::move(thing);
        return reinterpret_cast<void*>(m_next);
    }

    /// Null and a finding where the handle names nothing that lives.
    std::shared_ptr<Thing> find(const void* handle, const char* user) const
    {
        const auto found = m_live.find(reinterpret_cast<std::uintptr_t>(handle));
        if (found != m_live.end())
            return found->second;
        if (handle)
            report("stale-handle", user, std::string(m_noun) + complaintOf(handle));
        return nullptr;
    }

    void remove(const void* handle) { m_live.erase(reinterpret_cast<std::uintptr_t>(handle)); }

private:
    static constexpr std::uintptr_t kStep = 16;

    const char* complaintOf(const void* handle) const
    {
        const auto number = reinterpret_cast<std::uintptr_t>(handle);
        return number > m_first && number <= m_next ? " that was destroyed" : " that never was one";
    }

    std::map<std::uintptr_t, std::shared_ptr<Thing>> m_live;
    std::uintptr_t m_first, m_next;
    const char* m_noun;
};

} // namespace vergence::emulation
