#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vergence::cli {

/// All combinations of the values of some settings; the last setting changes fastest.
class SweepGrid {
public:
    static constexpr std::size_t kMost = 10'000;

    SweepGrid() = default;
    /// From `KEY=V1,V2,…`, one text per setting; commas in brackets and quotes belong to a value.
    /// Throws Error (ExitCode::Usage).
    explicit SweepGrid(const std::vector<std::string>& axes);

    bool isEmpty() const { return m_axes.empty(); }
    /// 1 where no setting is swept.
    std::size_t size() const;
    /// `key=value` of each setting.
    std::vector<std::string> assignments(std::size_t index) const;
    std::string keys() const;                    ///< "rate, size"
    std::string values(std::size_t index) const; ///< "0.1, 8"
    std::string text(std::size_t index) const;   ///< "rate=0.1, size=8"

private:
    struct Axis {
        std::string key;
        std::vector<std::string> values;
    };
    void add(const std::string& text);
    const std::string& value(std::size_t axis, std::size_t index) const;

    std::vector<Axis> m_axes;
};

} // namespace vergence::cli
