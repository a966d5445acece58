#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace vergence::sugar {

struct ReportPicture {
    std::string path; ///< from the folder of the report
    std::string caption;
};

/// One page of HTML, light or dark as the reader's system is: the figures of `report` (as
/// report.json has them), its stages and their share of the time, changed settings and pictures.
/// What the report lacks is left out.
std::string htmlReport(const nlohmann::json& report, const std::vector<ReportPicture>& pictures);

} // namespace vergence::sugar
