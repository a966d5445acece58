#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/config/config.h"

namespace vergence {

/// The newest configuration of a run: what it began with and the live changes since. Thread-safe.
class LiveSettings {
public:
    /// Live fields by key, as in a TOML file.
    using Values = std::map<std::string, std::string>;
    static constexpr const char* kOrigin = "live"; ///< source of values that change() brought

    /// `onChange` hears the values after each change, in order and under the lock: it must only
    /// move memory.
    LiveSettings(Config initial, std::function<void(const Values&)> onChange);

    /// Takes all of them in, with origin "live", if they are live and schema, ranges and rules
    /// allow them together; none, and one sentence, otherwise. Quotes may be left out.
    std::optional<std::string> change(const Values& values);
    Config newest() const;
    Values values() const;

private:
    Values valuesLocked() const;

    const std::function<void(const Values&)> m_onChange;
    mutable std::mutex m_mutex;
    Config m_config;
};

} // namespace vergence
