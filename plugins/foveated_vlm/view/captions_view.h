#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/view/diagram.h"

namespace vergence::fvlm {

/// A text that the model wrote, and what it thinks of the true one in the same mode.
struct Caption {
    std::string text;
    double nll = 0; ///< of the true answer, nats; NaN where it was not measured
};

/// One of the fixed clips.
struct CaptionRow {
    std::uint64_t id = 0;
    std::string prompt, truth;
    Caption coarse, fine, sequential;
};

/// What was written at one update.
struct CaptionPage {
    std::int64_t update = 0;
    std::vector<CaptionRow> rows;
};

/// Pages in the order of their updates, one per checkpoint.
class CaptionHistory {
public:
    /// Replaces the page of the same update.
    void add(CaptionPage page);
    const std::vector<CaptionPage>& pages() const { return m_pages; }
    bool isEmpty() const { return m_pages.empty(); }

    /// {"format", "pages": [{"update", "rows": [{"id", "prompt", "truth", "coarse", "fine",
    /// "sequential"}]}]}; numbers that were not measured are null.
    nlohmann::json toJson() const;
    /// Throws InputError that names `source` and the field at fault.
    static CaptionHistory fromJson(const nlohmann::json& json, const std::string& source);

private:
    std::vector<CaptionPage> m_pages;
};

/// Prompt, truth and the three texts side by side, each with its nats; long texts are cut after a
/// few lines.
Diagram captionDiagram(const CaptionPage& page);
/// The same for RunContext::table(): {"id", "title", "columns", "rows"}.
nlohmann::json captionTable(const CaptionPage& page);

} // namespace vergence::fvlm
