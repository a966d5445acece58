#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/artifact/safetensors.h"
#include "plugins/sugar/compute/learning/photometric.h"
#include "plugins/sugar/compute/learning/photometric_kernels.h"
#include "plugins/sugar/compute/learning/ssim_math.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

using Numbers = std::vector<double>;

/// Pixels of rows [first, last) lie in the buffer, each where it was put, or nowhere; those that
/// the band depends on do lie there.
void expectOwnPlaces(const PhotometricArguments& p, Index first, Index last)
{
    for (Index row = first; row < last; ++row) {
        const bool isInside = row >= 0 && row < p.height;
        const bool isNeeded =
            isInside && row >= p.begin - kPhotometricHalo && row < p.end + kPhotometricHalo;
        for (Index i = 0; i < 3 * (p.width + 2); ++i) {
            const Index channel = i / (p.width + 2), column = i % (p.width + 2) - 1;
            const Index place = placeInX(p, channel, row, column);
            if (place == -1) {
                QVERIFY(!isNeeded || column < 0 || column >= p.width);
                continue;
            }
            QVERIFY(isInside);
            QVERIFY2(place / p.width % p.rows == row - p.top,
                     qPrintable(QString("row %1 of a band of rows %2 to %3")
                                    .arg(row)
                                    .arg(p.top)
                                    .arg(p.top + p.rows)));
            QCOMPARE(place / p.width / p.rows, channel); // beyond the buffer it would be a fourth
            QCOMPARE(place % p.width, column);
        }
    }
}

/// A picture, a photograph and perhaps a mask in host memory; x is planar, the photo interleaved.
struct Pictures {
    Index height = 0, width = 0;
    std::vector<float> x;
    std::vector<std::uint8_t> photo, mask;

    std::size_t pixels() const { return static_cast<std::size_t>(height * width); }

    /// The same value in all channels: picture(row, column) and, as bytes, photo(row, column).
    template <class Picture, class Photo>
    static Pictures grey(Index height, Index width, const Picture& picture, const Photo& photo)
    {
        Pictures result{height, width, {}, {}, {}};
        result.x.resize(3 * result.pixels());
        for (Index i = 0; i < height * width; ++i) {
            for (Index c = 0; c < 3; ++c)
                result.x[static_cast<std::size_t>(c * height * width + i)] =
                    static_cast<float>(picture(i / width, i % width));
            result.photo.insert(result.photo.end(), 3,
                                static_cast<std::uint8_t>(photo(i / width, i % width)));
        }
        return result;
    }

    /// Noise around noise, so that similarity is neither 0 nor 1.
    static Pictures madeUp(Index height, Index width, bool hasMask, std::uint64_t seed = 1)
    {
        Pictures result{height, width, {}, {}, {}};
        const auto a = uniformNumbers(3 * height * width, 0, 255, seed);
        const auto b = uniformNumbers(3 * height * width, -0.2F, 0.2F, seed + 1);
        result.x.resize(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            result.photo.push_back(static_cast<std::uint8_t>(a[i]));
            const std::size_t planar = i % 3 * result.pixels() + i / 3;
            result.x[planar] = static_cast<float>(result.photo[i]) / 255 + b[i];
        }
        if (hasMask) {
            for (const float m : uniformNumbers(height * width, -100, 255, seed + 2))
                result.mask.push_back(static_cast<std::uint8_t>(std::max(0.0F, m)));
        }
        return result;
    }

    double weight(std::size_t pixel) const
    {
        return mask.empty() ? 1 : static_cast<double>(mask[pixel]);
    }
    double totalWeight() const
    {
        double sum = 0;
        for (std::size_t i = 0; i < pixels(); ++i)
            sum += 3 * weight(i);
        return sum;
    }
    /// The photograph, planar.
    Numbers reference() const
    {
        Numbers y(photo.size());
        for (std::size_t i = 0; i < photo.size(); ++i)
            y[i % 3 * pixels() + i / 3] = static_cast<double>(photo[i]) / 255;
        return y;
    }
    Numbers picture() const { return {x.begin(), x.end()}; }
};

/// Windowed sums of one plane under zero padding, by definition.
Numbers blurred(const Pictures& p, const double* plane)
{
    Numbers result(p.pixels(), 0.0);
    for (Index row = 0; row < p.height; ++row) {
        for (Index column = 0; column < p.width; ++column) {
            for (Index v = std::max<Index>(row - 5, 0); v <= std::min(row + 5, p.height - 1); ++v) {
                for (Index u = std::max<Index>(column - 5, 0);
                     u <= std::min(column + 5, p.width - 1); ++u)
                    result[static_cast<std::size_t>(row * p.width + column)] +=
                        ssimWeight<double>(static_cast<int>(std::abs(v - row))) *
                        ssimWeight<double>(static_cast<int>(std::abs(u - column))) *
                        plane[v * p.width + u];
            }
        }
    }
    return result;
}

template <class Function>
Numbers mapped(std::size_t n, const Function& function)
{
    Numbers result(n);
    for (std::size_t i = 0; i < n; ++i)
        result[i] = function(i);
    return result;
}

/// The loss in double, one channel after the other, straight from the formulas.
struct DoubleLoss {
    const Pictures& p; ///< size and mask
    Numbers y;         ///< planar
    PhotometricValue value{};
    Numbers gradient;

    explicit DoubleLoss(const Pictures& pictures)
        : DoubleLoss(pictures, pictures.picture(), pictures.reference())
    {
    }
    DoubleLoss(const Pictures& pictures, const Numbers& x, Numbers reference)
        : p(pictures),
          y(std::move(reference)),
          gradient(x.size(), 0.0)
    {
        const double total = p.totalWeight();
        for (std::size_t c = 0; c < 3; ++c)
            addChannel(x.data() + c * p.pixels(), c * p.pixels(), total);
        value.loss = 0.8 * value.l1 + 0.2 * (1 - value.ssim);
    }

private:
    void addChannel(const double* x, std::size_t offset, double total)
    {
        const std::size_t n = p.pixels();
        const double* reference = y.data() + offset;
        const auto of = [&](const auto& function) {
            return blurred(p, mapped(n, function).data());
        };
        const Numbers mx = of([&](std::size_t i) { return x[i]; });
        const Numbers my = of([&](std::size_t i) { return reference[i]; });
        const Numbers squares =
            of([&](std::size_t i) { return x[i] * x[i] + reference[i] * reference[i]; });
        const Numbers products = of([&](std::size_t i) { return x[i] * reference[i]; });
        Numbers a(n), b(n), c(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto point =
                ssimPoint(SsimMoments<double>{mx[i], my[i], squares[i], products[i]});
            const double weight = p.weight(i) / total;
            value.ssim += weight * point.value;
            value.l1 += weight * std::abs(x[i] - reference[i]);
            a[i] = -0.2 * weight * point.byMean;
            b[i] = -0.2 * weight * point.bySquare;
            c[i] = -0.2 * weight * point.byProduct;
        }
        const Numbers ba = blurred(p, a.data()), bb = blurred(p, b.data()),
                      bc = blurred(p, c.data());
        for (std::size_t i = 0; i < n; ++i)
            gradient[offset + i] = ba[i] + 2 * x[i] * bb[i] + reference[i] * bc[i] +
                                   0.8 * p.weight(i) / total * signOf(x[i] - reference[i]);
    }
};

/// Pictures on a device.
struct OnDevice {
    std::shared_ptr<Device> device;
    const Pictures& p;
    std::unique_ptr<Stream> stream = device->createStream();
    Tensor x = Tensor::fromHost<float>(*stream, device, {3, p.height, p.width}, p.x);
    Tensor photo = Tensor::fromHost<std::uint8_t>(*stream, device, {p.height, p.width, 3}, p.photo);
    Tensor mask = p.mask.empty() ? Tensor()
                                 : Tensor::fromHost<std::uint8_t>(*stream, device,
                                                                  {p.height, p.width}, p.mask);
    Tensor gradient = Tensor::empty(device, {3, p.height, p.width});
    PhotometricLoss loss{};

    OnDevice(const std::shared_ptr<Device>& on, const Pictures& pictures) : device(on), p(pictures)
    {
    }
    PhotometricValue evaluate() { return loss.evaluate(*stream, x, photo, mask, gradient); }
    std::vector<float> values() { return gradient.toHost<float>(*stream); }
    PictureQuality quality() { return pictureQuality(*stream, x, photo, mask); }
};

double largest(const Numbers& values)
{
    double most = 0;
    for (const double value : values)
        most = std::max(most, std::abs(value));
    return most;
}

/// Rows [top, top + rows) of planes [3, H, W].
std::vector<float> rowsOf(const std::vector<float>& planes, Index height, Index width, Index top,
                          Index rows)
{
    std::vector<float> result;
    for (Index c = 0; c < 3; ++c) {
        const auto from = planes.begin() + (c * height + top) * width;
        result.insert(result.end(), from, from + rows * width);
    }
    return result;
}

/// Interleaved to planar.
std::vector<float> planar(std::span<const float> interleaved)
{
    std::vector<float> result(interleaved.size());
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i % 3 * (result.size() / 3) + i / 3] = interleaved[i];
    return result;
}

} // namespace

class SugarPhotometricTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void windowSumsToOne()
    {
        double sum = ssimWeight<double>(0);
        for (int offset = 1; offset <= kSsimReach; ++offset)
            sum += 2 * ssimWeight<double>(offset);
        QVERIFY(std::abs(sum - 1) < 1e-12);
        for (int offset = 0; offset < kSsimReach; ++offset)
            QVERIFY(std::abs(std::log(ssimWeight<double>(offset) / ssimWeight<double>(offset + 1)) -
                             (2 * offset + 1) / 4.5) < 1e-12);
    }

    /// Tiles of the GPU stage whole windows, also of rows that the last of them has no more.
    void bandsAreReadWhereTheyAreHeld()
    {
        constexpr Index kWidth = 3, kTileRows = 16;
        for (const Index height : {1, 5, 11, 16, 23, 64}) {
            for (const Index rows : {Index{1}, Index{4}, Index{16}, Index{19}, height}) {
                for (Index index = 0; index * rows < height; ++index) {
                    const ImageBand band = imageBand(height, rows, index);
                    PhotometricArguments p;
                    p.height = height, p.width = kWidth;
                    p.begin = band.begin, p.end = band.end, p.top = band.top;
                    p.rows = std::min(band.end + kBandHalo, height) - band.top;
                    expectOwnPlaces(p, p.begin - kPhotometricHalo - kTileRows,
                                    p.end + kPhotometricHalo + kTileRows);
                }
            }
        }
    }

    void similarityOfKnownPictures()
    {
        Pictures size{32, 32, {}, {}, {}};
        const auto plane = [&](const auto& value) {
            return mapped(3 * 1024, [&](std::size_t i) { return value(i % 1024); });
        };
        const auto similarity = [&](const Numbers& x, const Numbers& y) {
            return DoubleLoss(size, x, y).value.ssim;
        };
        const Numbers across =
            plane([](std::size_t i) { return static_cast<double>(i % 32) / 31; });
        const Numbers down = plane([](std::size_t i) { return static_cast<double>(i / 32) / 31; });
        const Numbers half(3 * 1024, 0.5), more(3 * 1024, 0.6);
        QVERIFY(std::abs(similarity(across, across) - 1) < 1e-9);
        QVERIFY(std::abs(similarity(across, down) - 0.219366385) < 1e-9);
        QVERIFY(std::abs(similarity(across, half) - 0.371534233) < 1e-9);
        QVERIFY(std::abs(similarity(half, more) - 0.976263099) < 1e-9);
        // Far from the border only the means differ.
        QVERIFY(std::abs((2 * 0.3 + 1e-4) / (0.25 + 0.36 + 1e-4) - 0.983609244) < 1e-9);
    }

    void derivativeAgreesWithDifferences()
    {
        for (const bool hasMask : {false, true}) {
            const Pictures p = Pictures::madeUp(13, 17, hasMask);
            const DoubleLoss loss(p);
            const auto lossOf = [&](const Numbers& x) {
                return DoubleLoss(p, x, p.reference()).value.loss;
            };
            // The mean over 663 samples makes gradients small: compare them enlarged.
            const auto enlarged = [&](const Numbers& x) { return 663 * lossOf(x); };
            Numbers gradient = loss.gradient;
            for (double& value : gradient)
                value *= 663;
            VERGENCE_AGREES(gradientDifference(enlarged, p.picture(), gradient, 1e-6, 120));
        }
    }

    void kernelAgreesWithTheFormulas_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("width");
        QTest::addColumn<bool>("hasMask");
        const std::vector<std::array<int, 2>> sizes{
            {1, 1}, {1, 40}, {7, 3}, {33, 31}, {64, 16}, {65, 32}, {140, 19}, {21, 270}, {12, 513}};
        forEachDevice([&](const std::string& name, int device) {
            for (const auto& [height, width] : sizes) {
                for (const bool hasMask : {false, true})
                    QTest::addRow("%s, %d x %d%s", name.c_str(), width, height,
                                  hasMask ? ", mask" : "")
                        << device << height << width << hasMask;
            }
        });
    }
    void kernelAgreesWithTheFormulas()
    {
        VERGENCE_ROW_DEVICE(device)
        QFETCH(int, height);
        QFETCH(int, width);
        QFETCH(bool, hasMask);
        Pictures p = Pictures::madeUp(height, width, hasMask);
        if (hasMask)
            p.mask[0] = 200;
        OnDevice on(device, p);
        const DoubleLoss wanted(p);
        const PhotometricValue got = on.evaluate();
        QVERIFY(std::abs(got.l1 - wanted.value.l1) < 2e-7);
        QVERIFY(std::abs(got.ssim - wanted.value.ssim) < 2e-6);
        QVERIFY(std::abs(got.loss - wanted.value.loss) < 1e-6);
        // Float: the terms of the derivative cancel.
        VERGENCE_AGREES(
            difference(on.values(), wanted.gradient, 2e-5 * largest(wanted.gradient), 0));
    }

    void agreesWithTheReferenceImplementation_data() { addDeviceRows(); }
    void agreesWithTheReferenceImplementation()
    {
        VERGENCE_ROW_DEVICE(device)
        VERGENCE_GOLDEN_FOLDER(folder, "ssim");
        const SafetensorsFile file = readSafetensors(folder / "expected.safetensors");
        const auto number = [&](const char* name) { return file.find(name)->as<double>()[0]; };
        Pictures p{48, 64, planar(file.find("image")->as<float>()), {}, {}};
        for (const float value : file.find("target")->as<float>())
            p.photo.push_back(static_cast<std::uint8_t>(std::lround(255 * value)));
        OnDevice on(device, p);
        const PhotometricValue value = on.evaluate();
        QVERIFY(std::abs(value.ssim - number("ssim_same")) < 1e-6);
        QVERIFY(std::abs(value.l1 - number("l1")) < 1e-7);
        QVERIFY(std::abs(value.loss - number("loss_l1_dssim_02")) < 5e-7);
        const auto wanted = planar(file.find("grad_loss_l1_dssim_02")->as<float>());
        const double most = largest({wanted.begin(), wanted.end()});
        VERGENCE_AGREES(difference(on.values(), wanted, 2e-5 * most, 0));
        const auto ofSimilarity = planar(file.find("grad_ssim_same")->as<float>());
        PhotometricLoss dissimilarity(1);
        dissimilarity.evaluate(*on.stream, on.x, on.photo, on.mask, on.gradient);
        auto got = on.values();
        for (float& gradient : got)
            gradient = -gradient;
        VERGENCE_AGREES(difference(got, ofSimilarity,
                                   5e-5 * largest({ofSimilarity.begin(), ofSimilarity.end()}), 0));
        QVERIFY(std::abs(on.quality().psnr - number("psnr")) < 1e-5);
        QVERIFY(std::abs(on.quality().ssim - number("ssim_same")) < 1e-6);
    }

    void bandsAddUpToThePicture_data() { addDeviceRows(); }
    void bandsAddUpToThePicture()
    {
        VERGENCE_ROW_DEVICE(device)
        for (const Index rows : {64, 7, 200}) {
            const Pictures p = Pictures::madeUp(150, 40, true);
            OnDevice on(device, p);
            const PhotometricValue whole = on.evaluate();
            const auto wanted = on.values();
            PhotometricValue sum;
            std::vector<float> got(wanted.size(), 0.0F);
            for (Index index = 0; index * rows < p.height; ++index) {
                const ImageBand band = imageBand(p.height, rows, index);
                const Index h = std::min(band.end + kBandHalo, p.height) - band.top;
                const Tensor x =
                    Tensor::fromHost<float>(*on.stream, device, {3, h, p.width},
                                            rowsOf(p.x, p.height, p.width, band.top, h));
                Tensor gradient = Tensor::empty(device, x.shape());
                const auto part =
                    on.loss.evaluateBand(*on.stream, x, on.photo, on.mask, band, gradient);
                sum.l1 += part.l1;
                sum.ssim += part.ssim;
                sum.loss += part.loss;
                const auto values = gradient.toHost<float>(*on.stream);
                for (Index c = 0; c < 3; ++c) {
                    for (Index i = 0; i < h * p.width; ++i)
                        got[static_cast<std::size_t>((c * p.height + band.top) * p.width + i)] +=
                            values[static_cast<std::size_t>(c * h * p.width + i)];
                }
            }
            QCOMPARE(got, wanted);
            QVERIFY(std::abs(sum.l1 - whole.l1) < 1e-12);
            QVERIFY(std::abs(sum.ssim - whole.ssim) < 1e-12);
            QVERIFY(std::abs(sum.loss - whole.loss) < 1e-12);
        }
    }

    void maskedPixelsDoNotCount_data() { addDeviceRows(); }
    void maskedPixelsDoNotCount()
    {
        VERGENCE_ROW_DEVICE(device)
        Pictures p = Pictures::madeUp(40, 40, false);
        p.mask.assign(1600, 0);
        for (std::size_t row = 0; row < 40; ++row)
            std::fill_n(p.mask.begin() + static_cast<std::ptrdiff_t>(40 * row), 12, 255);
        OnDevice on(device, p);
        const PhotometricValue value = on.evaluate();
        const auto gradient = on.values();
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            if (i % 40 >= 12 + 5)
                QCOMPARE(gradient[i], 0.0F);
        }
        // The scale of the weights does not matter.
        for (std::uint8_t& weight : p.mask)
            weight /= 255;
        OnDevice scaled(device, p);
        QVERIFY(std::abs(scaled.evaluate().loss - value.loss) < 1e-9);
        const auto again = scaled.values();
        VERGENCE_AGREES(difference(again, gradient, 1e-5 * 0.8 / 1440, 0));
        p.mask.assign(1600, 0);
        OnDevice none(device, p);
        QCOMPARE(none.evaluate().loss, 0.0);
        QCOMPARE(none.values(), std::vector<float>(4800, 0.0F));
    }

    void resultDoesNotDependOnThreads()
    {
        const Pictures p = Pictures::madeUp(200, 300, true);
        OnDevice one(makeCpuDevice(1), p), three(makeCpuDevice(3), p);
        const PhotometricValue a = one.evaluate(), b = three.evaluate();
        QCOMPARE(a.loss, b.loss);
        QCOMPARE(a.ssim, b.ssim);
        QCOMPARE(one.values(), three.values());
    }

    void buffersAreKept()
    {
        const Pictures p = Pictures::madeUp(50, 60, false);
        OnDevice on(makeCpuDevice(2), p);
        on.evaluate();
        const std::size_t used = device(on).memory().usedByUs, buffers = on.loss.allocatedBytes();
        on.evaluate();
        QCOMPARE(device(on).memory().usedByUs, used);
        QCOMPARE(device(on).memory().peakUsedByUs, used);
        QCOMPARE(on.loss.allocatedBytes(), buffers);
    }

    void equalPicturesHaveInfiniteQuality_data() { addDeviceRows(); }
    void equalPicturesHaveInfiniteQuality()
    {
        VERGENCE_ROW_DEVICE(device)
        Pictures p = Pictures::madeUp(20, 30, false);
        const Numbers y = p.reference();
        std::transform(y.begin(), y.end(), p.x.begin(),
                       [](double value) { return static_cast<float>(value); });
        const PictureQuality equal = OnDevice(device, p).quality();
        QVERIFY(equal.psnr > 1e300 && equal.psnr8 > 1e300);
        QVERIFY(std::abs(equal.ssim - 1) < 1e-6);
        QCOMPARE(equal.l1, 0.0);
        // Less than half a level off: only the picture that is not rounded differs.
        for (float& value : p.x)
            value += 0.4F / 255;
        const PictureQuality near = OnDevice(device, p).quality();
        QVERIFY(std::isfinite(near.psnr));
        QVERIFY(near.psnr8 > 1e300);
    }

    void qualityOfConstantPictures_data() { addDeviceRows(); }
    void qualityOfConstantPictures()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto quality = [&](double picture, int photo) {
            const Pictures p = Pictures::grey(
                32, 32, [&](Index, Index) { return picture; }, [&](Index, Index) { return photo; });
            return OnDevice(device, p).quality();
        };
        const PictureQuality known = quality(0.5, 153);
        QVERIFY(std::abs(known.psnr - 20) < 1e-5);
        // Means of squares less squares of means, in F32, beside C2 = 9e-4. The CPU rounds both
        // alike; a GPU's fused multiply-add leaves the rounding of one, 6e-8.
        const double tolerance = device->info().kind == DeviceKind::Cuda ? 1.4e-4 : 1e-5;
        QVERIFY2(std::abs(known.ssim - 0.976263099) < tolerance,
                 qPrintable(QString::number(known.ssim, 'g', 12)));
        QVERIFY(std::abs(known.l1 - 0.1) < 1e-7);
        // 0.5 becomes 128 of 255.
        QVERIFY(std::abs(known.psnr8 - 20 * std::log10(255.0 / 25)) < 1e-9);
        QVERIFY(std::abs(quality(0, 255).psnr) < 1e-9);
        // Values are clamped before they are compared.
        QVERIFY(quality(1.5, 255).psnr > 1e300);
        QVERIFY(quality(-0.5, 0).psnr > 1e300);
        const PictureQuality white = quality(1.5, 255);
        QVERIFY(std::abs(white.ssim - 1) < 1e-6);
    }

    void badInputIsRefused()
    {
        const Pictures p = Pictures::madeUp(30, 20, true);
        OnDevice on(devices().devices[0], p);
        const auto evaluate = [&](const Tensor& x, const Tensor& photo, const Tensor& mask) {
            on.loss.evaluate(*on.stream, x, photo, mask, on.gradient);
        };
        VERGENCE_THROWS(ContractError, "photograph",
                        evaluate(on.x, on.photo.narrow(0, 0, 29), on.mask));
        VERGENCE_THROWS(ContractError, "mask", evaluate(on.x, on.photo, on.mask.narrow(0, 0, 7)));
        VERGENCE_THROWS(ContractError, "", evaluate(on.x.narrow(1, 0, 7), on.photo, on.mask));
        VERGENCE_THROWS(
            ContractError, "more to each side",
            on.loss.evaluateBand(*on.stream, on.x, on.photo, on.mask, {30, 5, 5, 10}, on.gradient));
        VERGENCE_THROWS(ContractError, "weight", PhotometricLoss(1.5));
        VERGENCE_THROWS(ContractError, "no such band", imageBand(30, 10, 3));
    }

private:
    static Device& device(const OnDevice& on) { return *on.device; }
};

VERGENCE_TEST(SugarPhotometricTest)
#include "tst_sugar_photometric.moc"
