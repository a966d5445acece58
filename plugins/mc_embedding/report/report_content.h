#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/mc_embedding/report/charts.h"

namespace vergence::mc_embedding {

/// The report as parts, before it becomes HTML or Markdown.
struct ReportTable {
    std::string title;
    std::vector<std::vector<PlotTable::Cell>> rows; ///< heading first
    std::vector<std::string> notes;
};
struct ReportPicture {
    std::string file; ///< below the folder of the report
    std::string title, caption;
    std::string svg;                ///< empty: the file's bytes are embedded
    std::string mime = "image/png"; ///< of the file
};
struct ReportSection {
    std::string title;
    std::vector<std::string> paragraphs, list;
    std::vector<ReportTable> tables;
    std::vector<ReportPicture> pictures;
};
struct Report {
    std::string title, verdict; ///< verdict: one sentence
    std::string tone;           ///< "good", "mixed", "bad"
    std::vector<ReportSection> sections;
};

/// Everything that needs no picture: question, settings, tables, verdict, deviations, reproduction.
/// Sections of figures are to be put before the last two.
Report reportOf(const StudyState& state);

/// `embed` gives the bytes of a picture's file.
std::string toHtml(const Report& report,
                   const std::function<std::string(const std::string&)>& embed);
std::string toMarkdown(const Report& report);

} // namespace vergence::mc_embedding
