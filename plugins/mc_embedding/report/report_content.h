#pragma once

#include <string>
#include <vector>

#include "plugins/mc_embedding/report/charts.h"

namespace vergence::mc_embedding {

/// The report as parts, before it becomes HTML or Markdown.
struct ReportTable {
    std::vector<std::vector<PlotTable::Cell>> rows; ///< heading first
    std::vector<std::string> notes;
    bool isText = false; ///< words rather than numbers: aligned to the left and broken
};
struct ReportPicture {
    std::string file; ///< below the folder of the report; Markdown shows it
    std::string title, caption;
    bool hasTitle = false; ///< the picture itself says its title
    std::string html;    ///< what the page shows: a drawing, or small pictures with their captions
    bool isWide = false; ///< takes a row of the page
};
struct ReportSection {
    std::string title;
    std::vector<std::string> paragraphs{}, list{};
    std::vector<ReportTable> tables{};
    std::vector<ReportPicture> pictures{};
    bool isFolded = false; ///< shows its title alone until it is opened
};
struct Report {
    std::string title, lead;
    std::string verdict;               ///< one sentence
    std::string tone;                  ///< of the verdict: "good", "mixed", "bad"
    std::vector<std::string> findings; ///< behind the verdict, one a model
    std::string facts;                 ///< what was measured, in one line
    std::vector<ReportSection> sections;
};

/// Verdict and results, the sections of `figures`, then what it rests on: settings that differ from
/// their defaults, models, everything else folded.
Report reportOf(const StudyState& state, std::vector<ReportSection> figures = {});

/// One page that needs nothing else; light or dark as the reader's screen is.
std::string toHtml(const Report& report);
std::string toMarkdown(const Report& report);

} // namespace vergence::mc_embedding
