#pragma once

#include <cstdint>
#include <vector>

namespace vergence::sugar {

/// What happens when. Steps count from 1: events belong to the end of the step of that number.
struct ScheduleSettings {
    std::int64_t iterations = 30'000;
    std::int64_t densifyFrom = 500, densifyUntil = 15'000, densifyEvery = 100;
    std::int64_t resetEvery = 3'000;  ///< opacity; 0: never
    std::int64_t degreeEvery = 1'000; ///< another band of harmonics
    std::int64_t filterEvery = 100;   ///< 3D filter, while densifying
    int degree = 3;
    int leastDegree = 0;      ///< in use from the first step: what the Gaussians came with
    bool progressive = false; ///< quarter size until 10 %, half until 30 % of the steps
};

class Schedule {
public:
    explicit Schedule(ScheduleSettings settings) : m_settings(settings) {}

    const ScheduleSettings& settings() const { return m_settings; }
    bool densifies(std::int64_t step) const;
    bool resetsOpacity(std::int64_t step) const;
    /// Whether opacities were reset before the events of this step.
    bool hasReset(std::int64_t step) const;
    /// Whether a densification will read what the step tells of gradients.
    bool gathers(std::int64_t step) const { return step <= lastDensification(); }
    bool updatesFilter(std::int64_t step) const;
    bool endsDensification(std::int64_t step) const { return step == lastDensification(); }
    bool normalisesRotations(std::int64_t step) const { return step % 1'000 == 0; }
    /// Bands of harmonics in use during the step.
    int degreeAt(std::int64_t step) const;
    /// Halvings of the pictures' sides during the step.
    int levelAt(std::int64_t step) const;

private:
    std::int64_t lastDensification() const;
    ScheduleSettings m_settings;
};

/// Which picture the step learns from: every epoch is a permutation that follows from seed and
/// epoch alone, so that a resumed run goes on with the same ones.
class PictureOrder {
public:
    PictureOrder(std::vector<std::size_t> pictures, std::uint64_t seed);
    std::size_t at(std::int64_t step); ///< step counts from 1
    const std::vector<std::size_t>& pictures() const { return m_pictures; }

private:
    void shuffle(std::int64_t epoch);

    std::vector<std::size_t> m_pictures, m_order;
    std::uint64_t m_seed;
    std::int64_t m_epoch = -1;
};

} // namespace vergence::sugar
