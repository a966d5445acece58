#include "app/viewport/frame_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <qfloat16.h>

#include "core/base/error.h"
#include "core/view/frame_publisher.h"

namespace vergence {
namespace {

QString text(const char* source)
{
    return QCoreApplication::translate("vergence::ViewPanel", source);
}

std::vector<double> numbers(const QJsonObject& meta, std::initializer_list<const char*> names)
{
    for (const char* name : names) {
        const QJsonArray array = meta.value(QLatin1String(name)).toArray();
        std::vector<double> values;
        for (const QJsonValue& value : array)
            values.push_back(value.toDouble());
        if (!values.empty())
            return values;
    }
    return {};
}

StackMeta readStackMeta(const QJsonObject& meta, int layers)
{
    StackMeta stack;
    const QJsonArray labels = meta.value(QLatin1String("labels")).toArray();
    for (int i = 0; i < layers; ++i)
        stack.labels << (i < labels.size() ? labels[i].toVariant().toString()
                                           : QString::number(i + 1));
    stack.depth = numbers(meta, {"depth", "distance_mm"});
    stack.caption = meta.value(QLatin1String("caption")).toString();
    stack.depthTitle = meta.value(QLatin1String("depth_title")).toString();
    if (stack.depthTitle.isEmpty())
        stack.depthTitle = meta.contains(QLatin1String("depth"))         ? text("depth")
                           : meta.contains(QLatin1String("distance_mm")) ? text("distance in mm")
                                                                         : text("layer");
    for (int i = static_cast<int>(stack.depth.size()); i < layers; ++i)
        stack.depth.push_back(i);
    stack.width = numbers(meta, {"width", "width_mm"});
    stack.widthTitle = meta.value(QLatin1String("width_title")).toString();
    if (stack.widthTitle.isEmpty())
        stack.widthTitle =
            meta.contains(QLatin1String("width")) ? text("width") : text("width in mm");
    stack.knowsWidth = !stack.width.empty();
    stack.width.resize(layers, stack.width.empty() ? 1.0 : stack.width.back());
    return stack;
}

ValueRange finiteRange(const Frame& frame)
{
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t at = 0; at + sizeof(float) <= frame.pixels.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, frame.pixels.data() + at, sizeof value);
        if (std::isfinite(value)) {
            low = std::min<double>(low, value);
            high = std::max<double>(high, value);
        }
    }
    return low <= high ? ValueRange{low, high} : ValueRange{};
}

} // namespace

std::shared_ptr<const ShownFrame> makeShownFrame(Frame frame, std::uint64_t revision)
{
    expects(frame.pixels.size() == frame.info.pixelBytes() ||
                (frame.shared && frame.pixels.empty()),
            "the frame of stream '" + frame.info.stream + "' has " +
                std::to_string(frame.pixels.size()) + " bytes of pixels, its size asks for " +
                std::to_string(frame.info.pixelBytes()));
    auto shown = std::make_shared<ShownFrame>();
    const auto json = QJsonDocument::fromJson(QByteArray::fromStdString(frame.info.meta)).object();
    shown->meta = readStackMeta(json, static_cast<int>(frame.info.layers));
    const QString encoding = json.value(QLatin1String("encoding")).toString();
    shown->isLinear = encoding.isEmpty() ? frame.info.format == PixelFormat::Rgba16F
                                         : encoding == QLatin1String("linear");
    shown->isPreview = json.value(QLatin1String("isPreview")).toBool();
    if (frame.info.format == PixelFormat::R32F)
        shown->range = finiteRange(frame);
    shown->frame = std::move(frame);
    shown->revision = revision;
    return shown;
}

std::shared_ptr<const ShownFrame> withPixels(const ShownFrame& shown, std::vector<std::byte> pixels)
{
    expects(pixels.size() == shown.frame.info.pixelBytes(), "the fetched pixels fit the frame");
    auto complete = std::make_shared<ShownFrame>(shown);
    complete->frame.pixels = std::move(pixels);
    if (complete->isScalar())
        complete->range = finiteRange(complete->frame);
    return complete;
}

std::array<double, 4> pixelAt(const Frame& frame, int layer, int x, int y)
{
    const FrameInfo& info = frame.info;
    expects(layer >= 0 && x >= 0 && y >= 0 && layer < static_cast<int>(info.layers) &&
                x < static_cast<int>(info.width) && y < static_cast<int>(info.height),
            "the pixel lies outside the frame");
    expects(!frame.pixels.empty(), "the pixels of the frame lie in host memory");
    const std::size_t index = (static_cast<std::size_t>(layer) * info.height + y) * info.width + x;
    const std::byte* at = frame.pixels.data() + index * bytesPerPixel(info.format);
    std::array<double, 4> values{};
    switch (info.format) {
    case PixelFormat::Rgba8:
        for (int c = 0; c < 4; ++c)
            values[c] = std::to_integer<int>(at[c]);
        break;
    case PixelFormat::Rgba16F:
        for (int c = 0; c < 4; ++c) {
            qfloat16 half;
            std::memcpy(&half, at + 2 * c, 2);
            values[c] = static_cast<float>(half);
        }
        break;
    case PixelFormat::R32F: {
        float value;
        std::memcpy(&value, at, sizeof value);
        values[0] = value;
        break;
    }
    }
    return values;
}

QString pixelText(const Frame& frame, int layer, int x, int y)
{
    if (frame.pixels.empty())
        return QStringLiteral("(%1, %2)").arg(x).arg(y);
    const auto value = pixelAt(frame, layer, x, y);
    QString numbers;
    if (frame.info.format == PixelFormat::R32F)
        numbers = QString::number(value[0], 'g', 6);
    else
        for (int c = 0; c < 3; ++c)
            numbers += (c ? QStringLiteral(" ") : QString()) + QString::number(value[c], 'g', 4);
    return QStringLiteral("(%1, %2)  %3").arg(x).arg(y).arg(numbers);
}

FalseColour mapFor(const Tone& tone, const ShownFrame& frame)
{
    switch (tone.map) {
    case Tone::Map::Grey:
        return FalseColour::Grey;
    case Tone::Map::Diverging:
        return FalseColour::Diverging;
    case Tone::Map::Magnitude:
        return FalseColour::Magnitude;
    case Tone::Map::Automatic:
        break;
    }
    return frame.range.low < 0 ? FalseColour::Diverging : FalseColour::Magnitude;
}

ValueRange rangeFor(const Tone& tone, const ShownFrame& frame)
{
    const bool isSigned = mapFor(tone, frame) == FalseColour::Diverging;
    ValueRange range = frame.range;
    if (tone.range == Tone::Range::Quarter)
        range = {isSigned ? -0.25 : 0.0, 0.25};
    else if (tone.range == Tone::Range::Unit)
        range = {isSigned ? -1.0 : 0.0, 1.0};
    else if (isSigned) {
        const double bound = std::max(std::abs(range.low), std::abs(range.high));
        range = {-bound, bound};
    }
    if (!(range.high > range.low))
        range.high = range.low + 1;
    return range;
}

QImage shownImage(const ShownFrame& shown, int layer, const Tone& tone)
{
    const FrameInfo& info = shown.frame.info;
    const int width = static_cast<int>(info.width), height = static_cast<int>(info.height);
    QImage image(width, height, QImage::Format_RGBA8888);
    const double factor = std::exp2(tone.exposure);
    const FalseColour map = mapFor(tone, shown);
    const ValueRange range = rangeFor(tone, shown);
    const auto byteOf = [&](double value) -> int {
        if (info.format == PixelFormat::Rgba8 && !shown.isLinear && tone.exposure == 0)
            return static_cast<int>(value);
        const double scaled = info.format == PixelFormat::Rgba8 ? value / 255 : value;
        const auto encoded = static_cast<std::uint8_t>(std::clamp(scaled, 0.0, 1.0) * 255 + 0.5);
        const double linear = shown.isLinear ? scaled : decodeSrgb8(encoded);
        return encodeSrgb8(static_cast<float>(std::clamp(linear * factor, 0.0, 1.0)));
    };
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const auto value = pixelAt(shown.frame, layer, x, y);
            QRgb colour = qRgb(255, 0, 255); // not a number
            if (!shown.isScalar())
                colour = qRgb(byteOf(value[0]), byteOf(value[1]), byteOf(value[2]));
            else if (!std::isnan(value[0]))
                colour = mapColour(map, (value[0] * factor - range.low) / (range.high - range.low));
            image.setPixel(x, y, colour);
        }
    }
    return image;
}

} // namespace vergence
