#include "plugins/mc_embedding/statistics/reliability.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/distributions.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

double meanOf(std::span<const double> x)
{
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double squareSum(std::span<const double> x)
{
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

/// Deviations from the mean, taken from the first entry so that equal entries give exactly 0.
std::vector<double> deviations(std::span<const double> x)
{
    std::vector<double> shifted(x.begin(), x.end());
    for (double& v : shifted)
        v -= x.front();
    const double mean = meanOf(shifted);
    for (double& v : shifted)
        v -= mean;
    return shifted;
}

/// Two-way layout: x_ki = mean + image_i + trial_k + residual_ki.
struct Layout {
    std::vector<double> image;       ///< [N], effect
    std::vector<double> trial;       ///< [K], effect
    double within = 0, residual = 0; ///< sums of squares about the image mean, and without trials
};

Layout layoutOf(const Matrix& scores)
{
    const std::size_t k = scores.rows, n = scores.columns;
    Layout layout;
    std::vector<double> imageMeans(n), trialMeans(k);
    Matrix within(k, n); // x_ki − mean of image i
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> column(k);
        for (std::size_t t = 0; t < k; ++t)
            column[t] = scores(t, i);
        const std::vector<double> deviation = deviations(column);
        for (std::size_t t = 0; t < k; ++t)
            within(t, i) = deviation[t];
        imageMeans[i] = column.front() - deviation.front();
        layout.within += squareSum(deviation);
    }
    for (std::size_t t = 0; t < k; ++t)
        trialMeans[t] = meanOf(std::span(within.values).subspan(t * n, n));
    layout.image = deviations(imageMeans);
    layout.trial = deviations(trialMeans);
    for (std::size_t t = 0; t < k; ++t)
        for (std::size_t i = 0; i < n; ++i) {
            const double r = within(t, i) - layout.trial[t];
            layout.residual += r * r;
        }
    return layout;
}

void setAll(const std::vector<Figure*>& figures, const std::string& why)
{
    for (Figure* figure : figures)
        *figure = Figure::none(why);
}

/// Signal, noise and what follows from the two. K, N ≥ 2.
void fillVariances(Reliability& out, const MeanSquares& squares, int passes)
{
    const double k = static_cast<double>(out.trials);
    const double signal = squares.betweenImages / k, noise = squares.withinImages;
    out.signal = signal;
    out.noise = noise;
    out.noisePerPass = passes * noise;
    out.betweenVariance = signal - noise / k;
    out.relativeNoise = out.mean.value == 0
                            ? Figure::none("the mean score is zero")
                            : Figure(out.noisePerPass.value / (out.mean.value * out.mean.value));
    if (noise > 0) {
        out.snr = signal / noise;
        out.snrUnbiased = out.snr.value - 1 / k;
    } else if (signal > 0) {
        out.snr.value = out.snrUnbiased.value = std::numeric_limits<double>::infinity();
        out.snr.reason = out.snrUnbiased.reason = "infinite: the noise is zero";
    } else {
        setAll({&out.snr, &out.snrUnbiased}, "all scores are equal");
    }
}

/// Intraclass correlations with the interval of ICC(1,1), and the drift test. K, N ≥ 2.
/// Source: Intraclass correlations: uses in assessing rater reliability (1979).
void fillCorrelations(Reliability& out, const MeanSquares& squares, double alpha)
{
    const double k = static_cast<double>(out.trials), n = static_cast<double>(out.images);
    const double between = squares.betweenImages, within = squares.withinImages;
    const double residual = squares.residual;
    if (between == 0 && within == 0) {
        setAll({&out.icc, &out.iccLow, &out.iccHigh, &out.iccC1, &out.icc1k},
               "all scores are equal");
    } else {
        out.icc = (between - within) / (between + (k - 1) * within);
        const double f = between / within; // infinite where the noise is 0
        const auto bound = [&](double ratio) {
            return std::isinf(ratio) ? 1 : (ratio - 1) / (ratio + k - 1);
        };
        out.iccLow = bound(f / fQuantile(1 - alpha / 2, n - 1, n * (k - 1)));
        out.iccHigh = bound(f * fQuantile(1 - alpha / 2, n * (k - 1), n - 1));
        const double consistent = between + (k - 1) * residual;
        out.iccC1 = consistent > 0 ? Figure((between - residual) / consistent)
                                   : Figure::none("images differ neither in mean nor in residual");
        out.icc1k = between > 0 ? Figure((between - within) / between)
                                : Figure::none("the mean scores of all images are equal");
    }
    if (residual > 0) {
        out.driftF = squares.betweenTrials / residual;
        out.driftP = fSurvival(out.driftF.value, k - 1, (k - 1) * (n - 1));
        out.drifts = out.driftP.value < 1e-3;
    } else {
        setAll({&out.driftF, &out.driftP}, "there is no residual");
    }
}

/// Correlations of all pairs of trials. K, N ≥ 2.
void fillPairs(Reliability& out, const Matrix& scores)
{
    const std::size_t n = scores.columns;
    const auto row = [n](const std::vector<double>& values, std::size_t r) {
        return std::span(values).subspan(r * n, n);
    };
    std::vector<double> ranks;
    for (std::size_t r = 0; r < scores.rows; ++r) {
        const std::vector<double> one = averageRanks(row(scores.values, r));
        ranks.insert(ranks.end(), one.begin(), one.end());
    }
    std::vector<double> linear;
    std::string why;
    for (std::size_t a = 0; a < scores.rows; ++a)
        for (std::size_t b = a + 1; b < scores.rows; ++b) {
            const Figure rho = pearson(row(ranks, a), row(ranks, b));
            if (!rho.exists()) {
                why = rho.reason;
                continue;
            }
            out.pairwise.push_back(rho.value);
            linear.push_back(pearson(row(scores.values, a), row(scores.values, b)).value);
        }
    if (out.pairwise.empty()) {
        setAll({&out.spearmanMedian, &out.spearmanQ25, &out.spearmanQ75, &out.pearsonMedian}, why);
        return;
    }
    out.spearmanMedian = quantile(out.pairwise, 0.5);
    out.spearmanQ25 = quantile(out.pairwise, 0.25);
    out.spearmanQ75 = quantile(out.pairwise, 0.75);
    out.pearsonMedian = quantile(linear, 0.5);
}

/// A figure that does not exist passes no gate: NaN compares false.
std::string statusOf(const Reliability& r)
{
    const double rho = r.spearmanMedian.value, snr = r.snr.value, icc = r.icc.value;
    if (rho >= kSpearmanGate && snr >= kSnrGate && icc >= kIccGate)
        return "usable";
    return rho >= kSpearmanFailed && snr >= kSnrFailed ? "marginal" : "failed";
}

void noneOfAll(Reliability& out, const std::string& why)
{
    setAll({&out.signal, &out.noise, &out.snr, &out.snrUnbiased, &out.icc, &out.iccLow,
            &out.iccHigh, &out.iccC1, &out.icc1k, &out.driftF, &out.driftP, &out.spearmanMedian,
            &out.spearmanQ25, &out.spearmanQ75, &out.pearsonMedian, &out.mean, &out.relativeNoise,
            &out.betweenVariance, &out.noisePerPass},
           why);
}

} // namespace

MeanSquares meanSquares(const Matrix& scores)
{
    expects(scores.rows >= 2 && scores.columns >= 2, "mean squares need two trials and two images");
    const Layout layout = layoutOf(scores);
    const double k = static_cast<double>(scores.rows), n = static_cast<double>(scores.columns);
    return {.betweenImages = k * squareSum(layout.image) / (n - 1),
            .withinImages = layout.within / (n * (k - 1)),
            .residual = layout.residual / ((n - 1) * (k - 1)),
            .betweenTrials = n * squareSum(layout.trial) / (k - 1)};
}

Reliability reliability(const Matrix& scores, int passes, double alpha)
{
    expects(passes >= 1, "a score needs at least one pass");
    expects(alpha > 0 && alpha < 1, "the level of an interval lies inside (0, 1)");
    Reliability out;
    out.trials = scores.rows;
    out.images = scores.columns;
    const bool finite = std::all_of(scores.values.begin(), scores.values.end(),
                                    [](double v) { return std::isfinite(v); });
    out.status = out.trials < 2 ? "insufficient_trials" : "failed";
    if (out.trials < 2 || out.images < 2 || !finite) {
        noneOfAll(out, out.trials < 2   ? "needs two trials"
                       : out.images < 2 ? "needs two images"
                                        : "a score is not finite");
        if (finite && !scores.values.empty())
            out.mean = meanOf(scores.values);
        return out;
    }
    const MeanSquares squares = meanSquares(scores);
    out.mean = meanOf(scores.values);
    fillVariances(out, squares, passes);
    fillCorrelations(out, squares, alpha);
    fillPairs(out, scores);
    out.status = statusOf(out);
    out.certain = out.status == "usable" && out.iccLow.value >= kIccGate;
    return out;
}

double predictedIcc(double icc, double fromPasses, double toPasses)
{
    expects(fromPasses > 0 && toPasses > 0, "a prediction goes from passes to passes");
    const double one = icc / (fromPasses - (fromPasses - 1) * icc);
    return toPasses * one / (1 + (toPasses - 1) * one);
}

Figure passesForIcc(const Reliability& at, double target)
{
    expects(target > 0 && target < 1, "a target ICC lies inside (0, 1)");
    if (!at.betweenVariance.exists())
        return at.betweenVariance;
    if (at.betweenVariance.value <= 0)
        return Figure::none("images do not differ beyond the noise");
    return target / (1 - target) * at.noisePerPass.value / at.betweenVariance.value;
}

Figure disattenuated(double rho, const Reliability& a, const Reliability& b)
{
    if (!std::isfinite(rho))
        return Figure::none("there is no correlation to correct");
    if (!(a.icc1k.value > 0) || !(b.icc1k.value > 0))
        return Figure::none("one side does not repeat from trial to trial");
    return rho / std::sqrt(a.icc1k.value * b.icc1k.value);
}

} // namespace vergence::mc_embedding
