#include "plugins/sugar/compute/learning/density_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plugins/sugar/compute/learning/density_math.h"

namespace vergence::sugar {

namespace {

constexpr int kMostCopies = 51;
constexpr double kLeastOpacity = 0.005, kMostOpacity = 1 - 1.2e-7;
constexpr double kShrink = 1.6;

double opacityOf(float logit)
{
    return sigmoid(static_cast<double>(logit));
}

double meanOf(const std::vector<float>& sums, const std::vector<float>& counts, std::size_t row)
{
    return row < sums.size() && counts[row] > 0
               ? static_cast<double>(sums[row]) / static_cast<double>(counts[row])
               : 0;
}

/// Fate of each Gaussian. Ratios are of statistics to their thresholds.
class Selection {
public:
    Selection(const DensityColumns& columns, const DensitySettings& settings, double extent,
              bool afterReset)
        : m_columns(columns),
          m_settings(settings),
          m_extent(extent),
          m_pruneOpacity(settings.pruneOpacity),
          m_afterReset(afterReset)
    {
        if (settings.mode == DensitySettings::Mode::Combined)
            m_absoluteThreshold = quantileThreshold();
    }

    double largestScale(std::size_t row) const
    {
        const float* s = m_columns.logScale.data() + 3 * row;
        return std::exp(static_cast<double>(std::max({s[0], s[1], s[2]})));
    }
    bool isSmall(std::size_t row) const
    {
        return largestScale(row) <= m_settings.percentDense * m_extent;
    }

    /// Statistic over threshold: at least 1 where the row is to be cloned or split.
    double ratio(std::size_t row) const
    {
        const double plain =
            meanOf(m_columns.gradient, m_columns.visible, row) / m_settings.gradient;
        if (m_settings.mode == DensitySettings::Mode::Classic)
            return plain;
        const double absolute = meanOf(m_columns.absoluteGradient, m_columns.visible, row);
        if (m_settings.mode == DensitySettings::Mode::Absolute)
            return absolute / m_settings.absoluteGradient;
        return isSmall(row) || m_absoluteThreshold == 0
                   ? plain
                   : std::max(plain, absolute / m_absoluteThreshold);
    }

    bool isPruned(std::size_t row) const
    {
        return !isAtLeast(m_columns.opacity[row], m_pruneOpacity) || isTooLarge(row);
    }
    double pruneOpacity() const { return m_pruneOpacity; }

    /// Raises the opacity to prune by until what is left and grows keeps to the cap, to within
    /// 2⁻¹² of the range; to the end of the range where that is not enough.
    void makeRoom()
    {
        if (!(m_pruneOpacity < kBisectedTo) || countAt(m_pruneOpacity) <= m_settings.cap)
            return;
        double low = std::min(kBisectedFrom, m_pruneOpacity), high = kBisectedTo;
        for (int i = 0; i < kBisections; ++i) {
            const double middle = (low + high) / 2;
            (countAt(middle) > m_settings.cap ? low : high) = middle;
        }
        m_pruneOpacity = high;
    }

private:
    static constexpr double kBisectedFrom = 0.003, kBisectedTo = 0.08; ///< opacities
    static constexpr int kBisections = 12;

    /// Gaussians after a round that prunes by `opacity`.
    Index countAt(double opacity) const
    {
        Index count = 0;
        for (std::size_t row = 0; row < m_columns.opacity.size(); ++row) {
            if (isAtLeast(m_columns.opacity[row], opacity) && !isTooLarge(row))
                count += ratio(row) >= 1 ? 2 : 1;
        }
        return count;
    }

    bool isTooLarge(std::size_t row) const
    {
        if (!m_afterReset)
            return false;
        const bool isSplit = ratio(row) >= 1 && !isSmall(row);
        const double scale = largestScale(row) / (isSplit ? kShrink : 1);
        const bool isWide = row < m_columns.radius.size() &&
                            static_cast<double>(m_columns.radius[row]) > m_settings.maxScreenRadius;
        return scale > m_settings.maxWorldScale * m_extent || (isWide && !isSplit);
    }

    /// The absolute statistic that as large a share exceeds as the plain rule selects; 0 for none.
    double quantileThreshold() const
    {
        const auto n = static_cast<std::size_t>(m_columns.count());
        std::vector<double> absolute(n);
        std::size_t selected = 0;
        for (std::size_t row = 0; row < n; ++row) {
            absolute[row] = meanOf(m_columns.absoluteGradient, m_columns.visible, row);
            selected += meanOf(m_columns.gradient, m_columns.visible, row) >= m_settings.gradient;
        }
        if (selected == 0)
            return 0;
        const auto place = absolute.begin() + static_cast<std::ptrdiff_t>(selected - 1);
        std::nth_element(absolute.begin(), place, absolute.end(), std::greater<>());
        return *place;
    }

    const DensityColumns& m_columns;
    const DensitySettings& m_settings;
    double m_extent, m_pruneOpacity, m_absoluteThreshold = 0;
    bool m_afterReset;
};

enum class Fate : std::uint8_t { Kept, Pruned, Cloned, Split };

/// Of the rows that want to grow, those that may under the cap.
std::vector<std::size_t> allowed(std::vector<std::size_t> wanting, const Selection& selection,
                                 Index room)
{
    const auto most = static_cast<std::size_t>(std::max<Index>(room, 0));
    if (wanting.size() <= most)
        return wanting;
    std::vector<std::pair<double, std::size_t>> ranked;
    ranked.reserve(wanting.size());
    for (const std::size_t row : wanting)
        ranked.emplace_back(-selection.ratio(row), row);
    std::sort(ranked.begin(), ranked.end());
    wanting.resize(most);
    std::transform(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(most),
                   wanting.begin(), [](const auto& entry) { return entry.second; });
    return wanting;
}

std::vector<Fate> fates(const DensityColumns& columns, const Selection& selection, Index cap)
{
    std::vector<Fate> fate(static_cast<std::size_t>(columns.count()), Fate::Kept);
    std::vector<std::size_t> wanting;
    Index pruned = 0;
    for (std::size_t row = 0; row < fate.size(); ++row) {
        if (selection.isPruned(row)) {
            fate[row] = Fate::Pruned;
            ++pruned;
        } else if (selection.ratio(row) >= 1) {
            wanting.push_back(row);
        }
    }
    for (const std::size_t row :
         allowed(std::move(wanting), selection, cap - (columns.count() - pruned)))
        fate[row] = selection.isSmall(row) ? Fate::Cloned : Fate::Split;
    return fate;
}

/// Draws of living rows with probability proportional to their opacity.
class OpacityLottery {
public:
    explicit OpacityLottery(const std::vector<double>& opacity, double leastOpacity)
        : m_upTo(opacity.size())
    {
        double sum = 0;
        for (std::size_t row = 0; row < opacity.size(); ++row)
            m_upTo[row] = sum += opacity[row] > leastOpacity ? opacity[row] : 0;
    }
    bool isEmpty() const { return m_upTo.empty() || m_upTo.back() == 0; }

    /// `u` uniform in [0, 1).
    std::size_t draw(double u) const
    {
        const double target = u * m_upTo.back();
        const auto place = std::upper_bound(m_upTo.begin(), m_upTo.end(), target);
        return static_cast<std::size_t>(std::min(place, m_upTo.end() - 1) - m_upTo.begin());
    }

private:
    std::vector<double> m_upTo;
};

/// Rows of a plan of relocation while it is made, opacities activated.
struct Population {
    RelocationPlan& plan;
    std::vector<double> opacity;

    /// Gives the rows `copies` the place of what they draw, and all that share a place the shape
    /// that keeps its look.
    void drawSources(const std::vector<std::size_t>& copies, const OpacityLottery& lottery,
                     std::uint64_t seed, std::uint64_t stream)
    {
        std::vector<std::pair<std::size_t, std::size_t>> drawn; // source, copy
        for (const std::size_t copy : copies)
            drawn.emplace_back(lottery.draw(uniform53(seed, stream, copy)), copy);
        std::sort(drawn.begin(), drawn.end());
        for (std::size_t first = 0; first < drawn.size();) {
            std::size_t last = first;
            while (last < drawn.size() && drawn[last].first == drawn[first].first)
                ++last;
            share(drawn[first].first, static_cast<int>(last - first));
            for (; first < last; ++first)
                copy(drawn[first].first, drawn[first].second);
        }
    }

private:
    void share(std::size_t source, int copies)
    {
        const RelocatedShape shape =
            relocatedShape(opacity[source], std::min(copies + 1, kMostCopies));
        opacity[source] = shape.opacity;
        plan.opacity[source] = static_cast<float>(logitOf(shape.opacity));
        for (std::size_t i = 3 * source; i < 3 * source + 3; ++i)
            plan.logScale[i] += static_cast<float>(std::log(shape.scaleFactor));
        plan.rows.isNew[source] = 1;
    }

    void copy(std::size_t source, std::size_t row)
    {
        plan.rows.source[row] = plan.rows.source[source];
        plan.rows.isNew[row] = 1;
        opacity[row] = opacity[source];
        plan.opacity[row] = plan.opacity[source];
        std::copy_n(plan.logScale.begin() + static_cast<std::ptrdiff_t>(3 * source), 3,
                    plan.logScale.begin() + static_cast<std::ptrdiff_t>(3 * row));
    }
};

} // namespace

bool isAtLeast(float logit, double opacity)
{
    return opacityOf(logit) >= opacity;
}

RowPlan planDensification(const DensityColumns& columns, const DensitySettings& settings,
                          double extent, bool afterReset)
{
    Selection selection(columns, settings, extent, afterReset);
    if (settings.bisectsCap)
        selection.makeRoom();
    const std::vector<Fate> fate = fates(columns, selection, settings.cap);
    RowPlan plan;
    plan.report.pruneOpacity = selection.pruneOpacity();
    const auto each = [&](const auto& visit) {
        for (Index row = 0; row < columns.count(); ++row)
            visit(row, fate[static_cast<std::size_t>(row)]);
    };
    each([&](Index row, Fate what) {
        if (what == Fate::Kept || what == Fate::Cloned)
            plan.keep(row);
        plan.report.pruned += what == Fate::Pruned;
    });
    each([&](Index row, Fate what) {
        if (what == Fate::Cloned) {
            plan.add(row, 1);
            ++plan.report.cloned;
        }
    });
    plan.firstChild = static_cast<Index>(plan.source.size());
    each([&](Index row, Fate what) {
        if (what == Fate::Split) {
            plan.add(row, 1);
            plan.add(row, 1);
            ++plan.report.split;
        }
    });
    plan.report.count = static_cast<Index>(plan.source.size());
    return plan;
}

RelocatedShape relocatedShape(double opacity, int copies)
{
    RelocatedShape shape;
    shape.opacity =
        std::clamp(1 - std::pow(1 - opacity, 1.0 / copies), kLeastOpacity, kMostOpacity);
    // Σ over i = 1 … n and k = 0 … i − 1 of binom(i − 1, k) (−1)^k o'^(k + 1)/√(k + 1).
    double sum = 0;
    for (int i = 1; i <= copies; ++i) {
        double binomial = 1, power = shape.opacity;
        for (int k = 0; k < i; ++k) {
            sum += (k % 2 ? -1 : 1) * binomial * power / std::sqrt(k + 1.0);
            binomial *= static_cast<double>(i - 1 - k) / (k + 1);
            power *= shape.opacity;
        }
    }
    shape.scaleFactor = opacity / sum;
    return shape;
}

RelocationPlan planRelocation(const DensityColumns& columns, const DensitySettings& settings,
                              std::uint64_t seed, std::int64_t step)
{
    RelocationPlan plan{{}, columns.opacity, columns.logScale};
    Population population{plan, {}};
    std::vector<std::size_t> dead;
    for (Index row = 0; row < columns.count(); ++row) {
        plan.rows.keep(row);
        population.opacity.push_back(opacityOf(columns.opacity[static_cast<std::size_t>(row)]));
        if (!(population.opacity.back() > settings.pruneOpacity)) // or not a number
            dead.push_back(static_cast<std::size_t>(row));
    }
    plan.rows.report.count = plan.rows.firstChild = columns.count();
    const OpacityLottery living(population.opacity, settings.pruneOpacity);
    if (living.isEmpty())
        return plan;
    population.drawSources(dead, living, seed, densityStream(DensityDraw::Relocation, step));
    plan.rows.report.relocated = static_cast<Index>(dead.size());

    const auto grown = static_cast<Index>(std::floor(1.05 * static_cast<double>(columns.count())));
    const Index count = std::max(columns.count(), std::min(settings.cap, grown));
    const OpacityLottery all(population.opacity, 0);
    std::vector<std::size_t> births(static_cast<std::size_t>(count - columns.count()));
    std::iota(births.begin(), births.end(), static_cast<std::size_t>(columns.count()));
    plan.rows.source.resize(static_cast<std::size_t>(count));
    plan.rows.isNew.resize(static_cast<std::size_t>(count));
    plan.opacity.resize(static_cast<std::size_t>(count));
    plan.logScale.resize(static_cast<std::size_t>(3 * count));
    population.opacity.resize(static_cast<std::size_t>(count));
    population.drawSources(births, all, seed, densityStream(DensityDraw::Birth, step));
    plan.rows.report.born = static_cast<Index>(births.size());
    plan.rows.report.count = count;
    return plan;
}

} // namespace vergence::sugar
