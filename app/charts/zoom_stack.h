#pragma once

#include <map>
#include <optional>
#include <vector>

#include <QString>

namespace vergence {

/// A closed interval of an axis, in data units.
struct Range {
    double from = 0, to = 1;
    double width() const { return to - from; }
    bool operator==(const Range&) const = default;
};

/// What of the charts is shown: nothing set means everything. X is common to all series; Y belongs
/// to one card, and tables have an X of their own.
struct ZoomState {
    std::optional<Range> x;
    std::map<QString, Range> cardX, cardY; ///< by card id
    bool operator==(const ZoomState&) const = default;
};

/// Back and forward through the zooms, each state exactly as it was.
class ZoomStack {
public:
    const ZoomState& current() const { return m_current; }
    /// A new state; `isContinued` replaces the newest one (one turn of the wheel, one drag is one
    /// step back).
    void push(ZoomState state, bool isContinued = false);
    bool canGoBack() const { return !m_back.empty(); }
    bool canGoForward() const { return !m_forward.empty(); }
    void back();
    void forward();
    void clear();

private:
    ZoomState m_current;
    std::vector<ZoomState> m_back, m_forward;
};

} // namespace vergence
