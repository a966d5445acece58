#include <QTest>

#include <cmath>
#include <vector>

#include "core/compute/rng.h"
#include "plugins/sugar/compute/alignment/depth_normal_math.h"
#include "plugins/sugar/compute/alignment/depth_picture_math.h"
#include "plugins/sugar/compute/alignment/entropy_math.h"
#include "plugins/sugar/compute/alignment/sample_terms_math.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::test;

namespace {

using Numbers = std::vector<double>;
constexpr double kPi = 3.14159265358979323846;

double uniform(std::uint64_t index, double low, double high)
{
    return low + (high - low) * static_cast<double>(Rng(17).uniform(index));
}

// --- Depth and normals -----------------------------------------------------------------------

constexpr Index kHeight = 7, kWidth = 9;
constexpr std::size_t kPixels = kHeight * kWidth;
const PixelRays<double> kRays{50, 40, 4.2, 3.9};

/// Planar: D, A, then the three components of N.
struct Image {
    Numbers all = Numbers(5 * kPixels, 1.0);

    double* plane(std::size_t i) { return all.data() + i * kPixels; }
    const double* plane(std::size_t i) const { return all.data() + i * kPixels; }
    Numbers expectedDepth() const
    {
        Numbers depth(kPixels);
        for (std::size_t i = 0; i < kPixels; ++i)
            depth[i] = ExpectedDepth<double>(plane(0)[i], plane(1)[i]).value;
        return depth;
    }
    Numbers transmittance() const
    {
        Numbers rest(kPixels);
        for (std::size_t i = 0; i < kPixels; ++i)
            rest[i] = 1 - plane(1)[i];
        return rest;
    }
    DepthNormalTerm<double> term(const Numbers& depth, const Numbers& rest) const
    {
        return {kRays, View<const double, 2>(depth.data(), kHeight, kWidth),
                View<const double, 2>(rest.data(), kHeight, kWidth),
                View<const double, 3>(plane(2), Index{3}, kHeight, kWidth)};
    }

    template <class Visit>
    static void each(const Visit& visit)
    {
        for (Index row = 0; row < kHeight; ++row) {
            for (Index column = 0; column < kWidth; ++column)
                visit(row, column);
        }
    }
    /// Sum over the pixels that count; coverage in the term itself is that of `fixed`.
    double loss(const Image& fixed) const
    {
        const Numbers depth = expectedDepth(), rest = fixed.transmittance();
        const auto now = term(depth, rest);
        double sum = 0;
        each([&](Index row, Index column) {
            DepthNormalGradient<double> unused;
            sum += now.evaluate(row, column, unused);
        });
        return sum;
    }
    std::vector<DepthNormalGradient<double>> gradients() const
    {
        const Numbers depth = expectedDepth(), rest = transmittance();
        const auto now = term(depth, rest);
        std::vector<DepthNormalGradient<double>> terms(kPixels);
        each([&](Index row, Index column) {
            now.evaluate(row, column, terms[static_cast<std::size_t>(row * kWidth + column)]);
        });
        return terms;
    }
    int counted() const
    {
        int count = 0;
        for (const DepthNormalGradient<double>& of : gradients())
            count += innerProduct(of.normal, of.normal) > 0;
        return count;
    }
    Numbers gradient() const
    {
        const Numbers depth = expectedDepth(), rest = transmittance();
        const auto now = term(depth, rest);
        const auto terms = gradients();
        Numbers result(5 * kPixels, 0.0);
        each([&](Index row, Index column) {
            const auto i = static_cast<std::size_t>(row * kWidth + column);
            const ExpectedDepth<double> expected(plane(0)[i], plane(1)[i]);
            const double gradDepth = now.gradDepth(row, column, [&](Index r, Index c) {
                return terms[static_cast<std::size_t>(r * kWidth + c)];
            });
            result[i] = expected.gradDepth(gradDepth);
            result[kPixels + i] = expected.gradCoverage(gradDepth);
            for (std::size_t k = 0; k < 3; ++k)
                result[(2 + k) * kPixels + i] = terms[i].normal[k];
        });
        return result;
    }
};

/// The sum of the other term, D and N of an image as they are.
double summedLoss(const Image& image, std::vector<DepthNormalGradient<double>>* gradients = nullptr)
{
    const SummedDepthNormalTerm<double> term{
        kRays, View<const double, 2>(image.plane(0), kHeight, kWidth),
        View<const double, 3>(image.plane(2), Index{3}, kHeight, kWidth)};
    double sum = 0;
    Image::each([&](Index row, Index column) {
        DepthNormalGradient<double> gradient;
        sum += term.evaluate(row, column, gradient);
        if (gradients)
            gradients->push_back(gradient);
    });
    return sum;
}

/// The plane through (0, 0, 5) with that normal, seen by opaque pixels.
Image planeWith(const double* normal)
{
    Image image;
    Image::each([&](Index row, Index column) {
        const auto i = static_cast<std::size_t>(row * kWidth + column);
        double ray[3];
        kRays.at(row, column, ray);
        image.plane(0)[i] = 5 * normal[2] / innerProduct(normal, ray);
        for (std::size_t k = 0; k < 3; ++k)
            image.plane(2 + k)[i] = normal[k];
    });
    return image;
}

// --- Density field ---------------------------------------------------------------------------

constexpr std::size_t kGaussians = 5, kNumbers = 11; ///< p, ln s, q, logit
constexpr double kXi[3] = {0.4, -0.7, 0.9};

/// Flat Gaussians on a wavy sheet; the first is the parent.
Numbers sheet()
{
    Numbers all;
    for (std::uint64_t g = 0; g < kGaussians; ++g) {
        const auto at = [&](std::uint64_t i) { return 20 * g + i; };
        for (std::uint64_t i = 0; i < 3; ++i)
            all.push_back(uniform(at(i), -0.1, 0.1) * (i == 2 ? 0.1 : 1));
        for (std::uint64_t i = 0; i < 3; ++i)
            all.push_back(std::log(i == 2 ? 0.02 : 0.1) + uniform(at(3 + i), -0.3, 0.3));
        for (std::uint64_t i = 0; i < 4; ++i)
            all.push_back(i == 0 ? 1.3 : uniform(at(6 + i), -0.3, 0.3));
        all.push_back(uniform(at(10), -1, 2));
    }
    return all;
}

std::vector<FieldGaussian<double>> fieldOf(const Numbers& all, double filter)
{
    std::vector<FieldGaussian<double>> field;
    for (std::size_t g = 0; g < kGaussians; ++g) {
        const double* at = all.data() + kNumbers * g;
        field.emplace_back(at, at + 3, at + 6, at[10], filter);
    }
    return field;
}

enum class Term { Density, Distance, Normal };

/// A term of one sample and the gradients of parent and neighbours; the parent is number 0.
struct Sample {
    FieldGradient<double> parent;
    std::vector<FieldGradient<double>> own = std::vector<FieldGradient<double>>(kGaussians);
    double value = 0;

    Sample(const std::vector<FieldGaussian<double>>& field, const double* xi, Term term,
           double target = 0)
    {
        const double parentNormal[3] = {field[0].normal(0), field[0].normal(1), field[0].normal(2)};
        double x[3], gradX[3] = {};
        fieldSample(field[0], xi, x);
        FieldSums<double> sums;
        for (const FieldGaussian<double>& g : field)
            sums.add(g, {g, x}, parentNormal);
        SampleGradient<double> gradient;
        if (term == Term::Density)
            value = densityTerm(field[0], xi, sums, 1.0, false, gradient, parent);
        else if (term == Term::Distance)
            value = distanceTerm(sums, target, 4.0, 1.0, false, gradient);
        else
            value = normalTerm(field[0], sums, 1.0, gradient, parent);
        own.resize(field.size());
        for (std::size_t i = 0; i < field.size(); ++i)
            gradient.backward(field[i], {field[i], x}, x, parentNormal, own[i], gradX);
        fieldSampleBackward(field[0], xi, gradX, parent);
    }
};

/// Gradients of parent and neighbours as those of the stored numbers; the parent is number 0.
Numbers parameterGradient(const std::vector<FieldGaussian<double>>& field,
                          const FieldGradient<double>& ofParent,
                          const std::vector<FieldGradient<double>>& gradients)
{
    Numbers result(kNumbers * kGaussians, 0.0);
    const auto add = [&](std::size_t g, const FieldGradient<double>& gradient) {
        const FieldParameterGradient<double> of(field[g], gradient);
        double* to = result.data() + kNumbers * g;
        for (std::size_t i = 0; i < 3; ++i) {
            to[i] += of.position[i];
            to[3 + i] += of.logScale[i];
        }
        for (std::size_t i = 0; i < 4; ++i)
            to[6 + i] += of.quaternion[i];
        to[10] += of.logit;
    };
    add(0, ofParent);
    for (std::size_t g = 0; g < kGaussians; ++g)
        add(g, gradients[g]);
    return result;
}

} // namespace

class SugarAlignmentTermsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void entropyIsThatOfACoin()
    {
        QVERIFY(std::abs(opacityEntropy(0.0).value - std::log(2.0)) < 1e-15);
        QCOMPARE(opacityEntropy(0.0).byLogit, 0.0);
        const double o = 0.2, x = std::log(o / (1 - o));
        QVERIFY(std::abs(opacityEntropy(x).value + o * std::log(o) + 0.8 * std::log(0.8)) < 1e-15);
        for (const double far : {-800.0, 800.0}) {
            QCOMPARE(opacityEntropy(far).value, 0.0);
            QVERIFY(std::abs(opacityEntropy(far).byLogit) < 1e-300);
        }
        QVERIFY(std::isfinite(opacityEntropy(200.0F).value));
        QVERIFY(opacityEntropy(1.0).byLogit < 0 && opacityEntropy(-1.0).byLogit > 0);
    }

    void entropyAgreesWithDifferences()
    {
        Numbers x, gradient;
        for (double logit = -6; logit < 6; logit += 0.37) {
            x.push_back(logit);
            gradient.push_back(opacityEntropy(logit).byLogit);
        }
        const auto sum = [](const Numbers& at) {
            double total = 0;
            for (const double logit : at)
                total += opacityEntropy(logit).value;
            return total;
        };
        VERGENCE_AGREES(gradientDifference(sum, x, gradient));
    }

    void planesAreConsistent()
    {
        const double facing[3] = {0, 0, -1};
        const double tilted[3] = {std::sin(kPi / 6), 0, -std::cos(kPi / 6)};
        for (const double* normal : {facing, tilted}) {
            Image image = planeWith(normal);
            const int counted = image.counted();
            QCOMPARE(counted, 35); // all but the border
            QVERIFY(std::abs(image.loss(image)) < 1e-9);
            for (std::size_t i = 2 * kPixels; i < 5 * kPixels; ++i)
                image.all[i] = -image.all[i];
            QVERIFY(std::abs(image.loss(image) - 2 * counted) < 1e-9);
        }
    }

    void depthAndNormalsAgreeWithDifferences()
    {
        const double normal[3] = {0.3, -0.2, -0.9};
        Image image = planeWith(normal);
        for (std::size_t i = 0; i < kPixels; ++i) {
            image.plane(1)[i] = uniform(i, 0.7, 1);
            image.plane(0)[i] *= image.plane(1)[i] * uniform(100 + i, 0.995, 1.005);
            for (std::size_t k = 2; k < 5; ++k)
                image.plane(k)[i] += uniform(200 * k + i, -0.1, 0.1);
        }
        // A hole and a jump: their neighbours do not count.
        image.plane(1)[kWidth + 1] = 0.4;
        image.plane(0)[5 * kWidth + 6] *= 1.5;
        QVERIFY(image.counted() > 20 && image.counted() < 32);
        const auto loss = [&](const Numbers& x) {
            Image now;
            now.all = x;
            return now.loss(image);
        };
        VERGENCE_AGREES(
            gradientDifference(loss, image.all, image.gradient(), 1e-6, image.all.size()));
    }

    void nothingSeenHasNoDepth()
    {
        const ExpectedDepth<double> none(3e-8, 1e-8);
        QCOMPARE(none.value, 0.0);
        QCOMPARE(none.gradDepth(5), 0.0);
        QCOMPARE(none.gradCoverage(5), 0.0);
        QCOMPARE(ExpectedDepth<double>(2, 0.5).value, 4.0);
    }

    /// One flat, opaque Gaussian alone is its own ideal along its normal.
    void aloneTheDensityIsItsTarget()
    {
        const double at[3] = {}, logScale[3] = {-1, -1.5, -4}, q[4] = {1, 0.2, 0.3, -0.1};
        const FieldGaussian<double> one(at, logScale, q, 700, 0);
        for (const double height : {-1.2, 0.0, 0.5}) {
            const double xi[3] = {0, 0, height};
            QVERIFY(Sample({one}, xi, Term::Density).value < 1e-12);
        }
    }

    void densityAgreesWithDifferences()
    {
        for (const double filter : {0.0, 0.03}) {
            for (const double side : {1.0, 0.15}) { // density above and below its target
                const double xi[3] = {kXi[0] / side, kXi[1] / side, kXi[2] * side};
                const Numbers x = sheet();
                const auto loss = [&](const Numbers& at) {
                    return Sample(fieldOf(at, filter), xi, Term::Density).value;
                };
                const auto field = fieldOf(x, filter);
                const Sample sample(field, xi, Term::Density);
                VERGENCE_AGREES(gradientDifference(
                    loss, x, parameterGradient(field, sample.parent, sample.own), 1e-6, x.size()));
            }
        }
    }

    void distanceIsThatOfItsDensity()
    {
        FieldSums<double> sums; // 16 neighbours whose smallest scale is 0.02
        sums.count = 16;
        sums.smallest = 16 * 0.02;
        sums.density = 16 * std::exp(-0.5 * 9);
        SampleGradient<double> gradient;
        // Three standard deviations away; tenths of an extent of 4.
        QVERIFY(std::abs(distanceTerm(sums, 0.0, 4.0, 1.0, false, gradient) - 0.06 / 0.4) < 1e-12);
        QVERIFY(distanceTerm(sums, 0.06, 4.0, 1.0, false, gradient) < 1e-12);
    }

    void distanceAgreesWithDifferences()
    {
        for (const double filter : {0.0, 0.03}) {
            for (const double target : {0.0, 0.5}) { // farther and nearer than it should be
                const Numbers x = sheet();
                const auto loss = [&](const Numbers& at) {
                    return Sample(fieldOf(at, filter), kXi, Term::Distance, target).value;
                };
                const auto field = fieldOf(x, filter);
                const Sample sample(field, kXi, Term::Distance, target);
                QVERIFY(sample.value > 1e-3);
                VERGENCE_AGREES(gradientDifference(
                    loss, x, parameterGradient(field, sample.parent, sample.own), 1e-6, x.size()));
            }
        }
    }

    /// The slope is unbounded where the density nears 1.
    void distanceIsBoundedAtTheSurface()
    {
        for (const double density : {1 - 2e-4, 1 - 1e-5, 1.0, 3.0}) {
            FieldSums<double> sums;
            sums.count = 1;
            sums.smallest = 0.02;
            sums.density = density;
            SampleGradient<double> gradient;
            QVERIFY(std::isfinite(distanceTerm(sums, 0.1, 4.0, 1.0, false, gradient)));
            QCOMPARE(gradient.byDensity != 0, density < 1 - 1e-4);
            QVERIFY(std::abs(gradient.byDensity) < 0.02 / 0.014 * 10 / 4);
        }
        FieldSums<double> empty;
        empty.count = 1;
        empty.smallest = 0.02;
        SampleGradient<double> gradient;
        const double far = distanceTerm(empty, 0.0, 4.0, 1.0, false, gradient);
        QVERIFY(std::abs(far - 0.02 * std::sqrt(-2 * std::log(1e-16)) / 0.4) < 1e-12);
        QCOMPARE(gradient.byDensity, 0.0);
        // An error of more than ten extents counts as that much, and pulls nowhere.
        SampleGradient<double> none;
        QCOMPARE(distanceTerm(empty, 1e3, 4.0, 1.0, false, none), 40.0);
        QCOMPARE(none.bySmallest, 0.0);
    }

    void depthBetweenPixelsIsBilinear()
    {
        const double depth[6] = {1, 2, 4, 3, 5, 0.4}, rest[6] = {0, 0, 0, 0, 0, 0.6};
        const DepthPicture<double> picture{depth, rest, 2, 3};
        QCOMPARE(picture.at(0.5, 0.5), 1.0);
        QCOMPARE(picture.at(1.0, 1.0), (1 + 2 + 3 + 5) / 4.0);
        QCOMPARE(picture.at(0.75, 0.5), 1.25);
        QCOMPARE(picture.at(-7, 9), 3.0);  // the border goes on
        QVERIFY(picture.at(2.0, 1.0) < 0); // one of the four is hardly covered
    }

    /// Against the definition, its weights held at those of the start.
    void normalsAgreeWithDifferences()
    {
        const Numbers start = sheet();
        const auto field = fieldOf(start, 0);
        double x[3], sum = 0, weight[kGaussians];
        fieldSample(field[0], kXi, x);
        const auto axis = [](const FieldGaussian<double>& g, int row) { return g.normal(row); };
        for (std::size_t i = 0; i < kGaussians; ++i)
            sum += weight[i] = FieldWeight<double>(field[i], x).normalWeight(field[i]);
        QVERIFY(sum > 1e-3);
        const auto loss = [&](const Numbers& at) {
            const auto now = fieldOf(at, 0);
            double squares = 0;
            for (int row = 0; row < 3; ++row) {
                double r = axis(now[0], row);
                for (std::size_t i = 0; i < kGaussians; ++i) {
                    double cosine = 0;
                    for (int k = 0; k < 3; ++k)
                        cosine += axis(field[i], k) * axis(field[0], k);
                    r -= weight[i] / sum * (cosine < 0 ? -1 : 1) * axis(now[i], row);
                }
                squares += r * r;
            }
            return squares;
        };
        const Sample sample(field, kXi, Term::Normal);
        QVERIFY(std::abs(sample.value - loss(start)) < 1e-14);
        VERGENCE_AGREES(gradientDifference(
            loss, start, parameterGradient(field, sample.parent, sample.own), 1e-6, start.size()));
    }

    void equalNormalsAgreeWhateverTheirSign()
    {
        const double at[3] = {0, 0, 0.01}, logScale[3] = {-1, -1, -4};
        const double up[4] = {1, 0, 0, 0}, down[4] = {0, 1, 0, 0};
        const FieldGaussian<double> a(at, logScale, up, 1, 0), b(at, logScale, down, 1, 0);
        const double xi[3] = {0.02, 0, 0.8};
        QVERIFY(Sample({a, b}, xi, Term::Normal).value < 1e-12);
    }

    /// A plane gives 0 inside and 1 at each pixel of the border; emptiness gives 1 everywhere.
    void summedTermOfAPlaneAndOfNothing()
    {
        const double root = std::sqrt(1 - 0.36 - 0.01);
        const double normal[3] = {0.6, -0.1, -root};
        const double border = 2.0 * static_cast<double>(kHeight + kWidth) - 4;
        QVERIFY(std::abs(summedLoss(planeWith(normal)) - border) < 1e-9);
        Image nothing;
        std::fill(nothing.all.begin(), nothing.all.end(), 0.0);
        QCOMPARE(summedLoss(nothing), static_cast<double>(kPixels));
        const double turned[3] = {-0.6, 0.1, -root}; // z of N is recovered towards the camera
        Image image = planeWith(normal);
        for (std::size_t i = 0; i < kPixels; ++i) {
            image.plane(2)[i] = turned[0];
            image.plane(3)[i] = turned[1];
        }
        const double inside = static_cast<double>(kPixels) - border;
        QVERIFY(std::abs(summedLoss(image) - border - inside * 2 * (0.36 + 0.01)) < 1e-9);
    }

    void summedTermHasTheGradientOfDifferences()
    {
        Image image;
        for (std::size_t i = 0; i < kPixels; ++i) {
            image.plane(0)[i] = 4 + 0.3 * std::sin(1.7 * static_cast<double>(i));
            image.plane(2)[i] = 0.4 * std::sin(0.9 * static_cast<double>(i));
            image.plane(3)[i] = 0.3 * std::cos(1.3 * static_cast<double>(i));
        }
        std::vector<DepthNormalGradient<double>> terms;
        summedLoss(image, &terms);
        Numbers found(5 * kPixels, 0.0), expected(5 * kPixels, 0.0);
        Image::each([&](Index row, Index column) {
            const auto i = static_cast<std::size_t>(row * kWidth + column);
            found[i] = gradDepthFrom(
                kRays, Index{kHeight}, Index{kWidth}, row, column,
                [&](Index r, Index c) { return terms[static_cast<std::size_t>(r * kWidth + c)]; });
            for (std::size_t k = 0; k < 2; ++k)
                found[(2 + k) * kPixels + i] = terms[i].normal[k];
        });
        for (std::size_t i = 0; i < image.all.size(); ++i) {
            constexpr double kStep = 6e-6;
            Image above = image, below = image;
            above.all[i] += kStep;
            below.all[i] -= kStep;
            expected[i] = (summedLoss(above) - summedLoss(below)) / (2 * kStep);
        }
        double largest = 0, worst = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            largest = std::max(largest, std::abs(expected[i]));
            worst = std::max(worst, std::abs(found[i] - expected[i]));
        }
        QVERIFY2(largest > 0.1 && worst < 1e-6 * largest, qPrintable(QString::number(worst)));
    }
};

VERGENCE_TEST(SugarAlignmentTermsTest)
#include "tst_sugar_alignment_terms.moc"
