#include "plugins/mc_embedding/study/experiments/association.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/experiments/assignment.h"

namespace vergence::mc_embedding {

namespace {

using Uncertainties = std::vector<std::vector<double>>; // per frame and detection

/// Reads the fields of one frame.
class FrameReader {
public:
    FrameReader(const nlohmann::json& json, std::string place)
        : m_json(json),
          m_place(std::move(place))
    {
    }

    template <class T>
    std::vector<T> list(const char* field, std::optional<std::size_t> length = {}) const
    {
        try {
            auto values = m_json.at(field).get<std::vector<T>>();
            if (length && values.size() != *length)
                fail(field, fmt::format("has {} entries instead of {}", values.size(), *length));
            return values;
        } catch (const nlohmann::json::exception&) {
            fail(field, "must be a list of numbers");
        }
    }

    Matrix matrix(const char* field, std::size_t rows, std::size_t columns) const
    {
        Matrix matrix(rows, columns);
        const auto lines = list<nlohmann::json>(field, rows);
        for (std::size_t r = 0; r < rows; ++r) {
            const nlohmann::json line = {{field, lines[r]}};
            const auto values = FrameReader(line, fmt::format("{} row {}", m_place, r))
                                    .list<double>(field, columns);
            std::copy(values.begin(), values.end(), &matrix.values[r * columns]);
        }
        return matrix;
    }

    /// Empty where the field is missing and may be.
    std::vector<double> uncertainties(const char* field, std::size_t length, bool isNeeded) const
    {
        if (!isNeeded && !m_json.contains(field))
            return {};
        auto values = list<double>(field, length);
        if (!std::all_of(values.begin(), values.end(), [](double u) { return u > 0; }))
            fail(field, "must be above 0");
        return values;
    }

    [[noreturn]] void fail(const char* field, const std::string& what) const
    {
        throw InputError(fmt::format("{}: \"{}\" {}.", m_place, field, what));
    }

private:
    const nlohmann::json& m_json;
    std::string m_place;
};

/// Counts over frames how well identities keep their tracks.
class QualityCounter {
public:
    void add(const TrackingFrame& frame, const std::vector<int>& columns)
    {
        for (std::size_t c = 0; c < frame.truth.size(); ++c) {
            const int identity = frame.truth[c];
            if (std::find(frame.tracks.begin(), frame.tracks.end(), identity) == frame.tracks.end())
                continue; // nothing that could be right
            const auto row = std::find(columns.begin(), columns.end(), static_cast<int>(c));
            std::optional<int> track;
            if (row != columns.end())
                track = frame.tracks[static_cast<std::size_t>(row - columns.begin())];
            count(identity, track);
        }
    }

    AssociationQuality quality() const
    {
        AssociationQuality result = m_quality;
        if (result.detections > 0)
            result.accuracy = static_cast<double>(m_right) / static_cast<double>(result.detections);
        return result;
    }

private:
    struct Life {
        std::optional<int> lastTrack;
        bool wasRight = false, isInterrupted = false;
    };

    void count(int identity, std::optional<int> track)
    {
        Life& life = m_lives[identity];
        const bool isRight = track == identity;
        ++m_quality.detections;
        m_right += isRight;
        if (track) {
            m_quality.switches += life.lastTrack && life.lastTrack != track;
            life.lastTrack = track;
        }
        m_quality.fragmentations += isRight && life.isInterrupted;
        life.isInterrupted = !isRight && (life.wasRight || life.isInterrupted);
        life.wasRight = isRight;
    }

    AssociationQuality m_quality;
    std::size_t m_right = 0;
    std::map<int, Life> m_lives;
};

AssociationQuality qualityWith(const std::vector<TrackingFrame>& frames,
                               const Uncertainties& uncertainty, const AssociationOptions& options)
{
    QualityCounter counter;
    for (std::size_t f = 0; f < frames.size(); ++f) {
        const TrackingFrame& frame = frames[f];
        Matrix costs(frame.tracks.size(), frame.truth.size());
        for (std::size_t r = 0; r < costs.rows; ++r) {
            for (std::size_t c = 0; c < costs.columns; ++c)
                costs(r, c) = options.alpha * frame.motion(r, c) +
                              options.beta * frame.appearance(r, c) /
                                  std::max(uncertainty[f][c], options.epsilon);
        }
        counter.add(frame, optimalAssignment(costs));
    }
    return counter.quality();
}

Uncertainties relativeToMedian(Uncertainties uncertainty)
{
    std::vector<double> all;
    for (const auto& frame : uncertainty)
        all.insert(all.end(), frame.begin(), frame.end());
    if (all.empty())
        return uncertainty;
    const double median = quantile(all, 0.5);
    for (auto& frame : uncertainty) {
        for (double& u : frame)
            u /= median;
    }
    return uncertainty;
}

/// 10 where the track of least appearance cost is not the right one, else 1.
std::vector<double> misleading(const TrackingFrame& frame)
{
    std::vector<double> result(frame.truth.size(), 1);
    for (std::size_t c = 0; c < frame.truth.size() && !frame.tracks.empty(); ++c) {
        std::size_t best = 0;
        for (std::size_t r = 1; r < frame.tracks.size(); ++r) {
            if (frame.appearance(r, c) < frame.appearance(best, c))
                best = r;
        }
        if (frame.tracks[best] != frame.truth[c])
            result[c] = 10;
    }
    return result;
}

} // namespace

std::vector<TrackingFrame> readTrackingFrames(const std::filesystem::path& path)
{
    const nlohmann::json json = parseJson(readFile(path), path.string());
    if (!json.is_object() || !json.contains("frames") || !json["frames"].is_array())
        throw InputError(
            fmt::format("{}: an object with the list \"frames\" is expected.", path.string()));
    std::vector<TrackingFrame> frames;
    for (const nlohmann::json& item : json["frames"]) {
        const FrameReader reader(item, fmt::format("{} frame {}", path.string(), frames.size()));
        TrackingFrame frame;
        frame.tracks = reader.list<int>("tracks");
        frame.truth = reader.list<int>("truth");
        frame.motion = reader.matrix("motion", frame.tracks.size(), frame.truth.size());
        frame.appearance = reader.matrix("appearance", frame.tracks.size(), frame.truth.size());
        frame.uncertainty = reader.uncertainties("uncertainty", frame.truth.size(), true);
        frame.laplace = reader.uncertainties("laplace", frame.truth.size(), false);
        frames.push_back(std::move(frame));
    }
    return frames;
}

AssociationResult associationStudy(const std::vector<TrackingFrame>& frames,
                                   const AssociationOptions& options)
{
    expects(options.epsilon > 0, "associationStudy: epsilon above 0");
    Uncertainties equal, measured, other, known;
    AssociationResult result;
    result.hasLaplace = !frames.empty();
    for (const TrackingFrame& frame : frames) {
        expects(frame.uncertainty.size() == frame.truth.size(),
                "associationStudy: an uncertainty for every detection");
        equal.emplace_back(frame.truth.size(), 1.0);
        measured.push_back(frame.uncertainty);
        other.push_back(frame.laplace);
        known.push_back(misleading(frame));
        result.hasLaplace &= frame.laplace.size() == frame.truth.size();
    }
    result.baseline = qualityWith(frames, equal, options);
    result.adaptive = qualityWith(frames, relativeToMedian(measured), options);
    result.oracle = qualityWith(frames, known, options);
    if (result.hasLaplace)
        result.laplace = qualityWith(frames, relativeToMedian(other), options);
    return result;
}

nlohmann::json toJson(const AssociationResult& result)
{
    const auto jsonOf = [](const AssociationQuality& quality) {
        return nlohmann::json{{"detections", quality.detections},
                              {"accuracy", quality.accuracy},
                              {"id_switches", quality.switches},
                              {"fragmentations", quality.fragmentations}};
    };
    nlohmann::json json = {{"baseline", jsonOf(result.baseline)},
                           {"adaptive", jsonOf(result.adaptive)},
                           {"oracle", jsonOf(result.oracle)}};
    if (result.hasLaplace)
        json["laplace"] = jsonOf(result.laplace);
    else
        json["laplace_reason"] = "the frames have no \"laplace\" values";
    return json;
}

} // namespace vergence::mc_embedding
