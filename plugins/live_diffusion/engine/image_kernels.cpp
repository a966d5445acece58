#include "plugins/live_diffusion/engine/image_kernels.h"

#include <cmath>

#include "core/compute/ops/activation_math.h"
#include "core/compute/ops/loops.h"

namespace vergence::live {

namespace {

/// body<T>() for the types of networks.
template <class Body>
void withType(DType type, const Body& body)
{
    withFloatType(type, [&](auto tag) {
        if constexpr (!std::is_same_v<typename decltype(tag)::Type, double>)
            body(tag);
    });
}

template <class T, bool channelsLast, bool silu>
struct AffineRow {
    AffineChannels p;
    Index columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* x = static_cast<const T*>(p.x) + row * columns;
        T* y = static_cast<T*>(p.y) + row * columns;
        const Index image = row / (channelsLast ? p.shape.pixels() : p.shape.channels);
        const float* shift = p.shift + image * p.shiftStride;
        const Index channel = channelsLast ? 0 : row % p.shape.channels;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            using P = Pack<float, decltype(at)::kSize>;
            P value = load(x, at);
            if constexpr (channelsLast) {
                if (p.scale)
                    value = value * load(p.scale, at);
                value = value + load(shift, at);
            } else {
                if (p.scale)
                    value = value * spread<P>(p.scale[channel]);
                value = value + spread<P>(shift[channel]);
            }
            if constexpr (silu)
                value = swish(value, 1.0f);
            store(y, at, value);
        });
    }
};

template <class T, bool silu>
void affineAs(Stream& stream, const AffineChannels& p)
{
    const ImageShape& s = p.shape;
    if (s.channelsLast)
        forEachRow<T>(stream, s.images * s.pixels(), s.channels,
                      AffineRow<T, true, silu>{p, s.channels});
    else
        forEachRow<T>(stream, s.images * s.channels, s.pixels(),
                      AffineRow<T, false, silu>{p, s.pixels()});
}

void affineBody(Stream& stream, const AffineChannels& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        p.silu ? affineAs<T, true>(stream, p) : affineAs<T, false>(stream, p);
    });
}

template <class T>
struct ImportPixel {
    ImportImages p;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index pixels = p.shape.pixels(), image = item / pixels, pixel = item % pixels;
        T* y = static_cast<T*>(p.y);
        Index channel = 0;
        for (int i = 0; i < 3; ++i) {
            const float* from = p.sources[i] + image * p.channels[i] * pixels + pixel;
            for (Index c = 0; c < p.channels[i]; ++c, ++channel)
                y[p.shape.at(image, channel, pixel)] = static_cast<T>(from[c * pixels]);
        }
        for (; channel < p.shape.channels; ++channel)
            y[p.shape.at(image, channel, pixel)] = static_cast<T>(0.0f);
    }
};

template <class T>
struct ExportPixel {
    ExportImages p;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index pixels = p.shape.pixels(), image = item / pixels, pixel = item % pixels;
        const T* x = static_cast<const T*>(p.x);
        float* y = p.y + image * p.count * pixels + pixel;
        for (Index c = 0; c < p.count; ++c)
            y[c * pixels] = static_cast<float>(x[p.shape.at(image, p.first + c, pixel)]);
    }
};

void importBody(Stream& stream, const ImportImages& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, p.shape.images * p.shape.pixels(), ImportPixel<T>{p});
    });
}

void exportBody(Stream& stream, const ExportImages& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, p.shape.images * p.shape.pixels(), ExportPixel<T>{p});
    });
}

/// Place in x of a pixel's phase.
struct PhasePlace {
    Index image, pixel, phase;
    VERGENCE_HD PhasePlace(const ImageShape& y, Index row) : image(row / y.pixels())
    {
        const Index line = row % y.pixels() / y.width, column = row % y.width;
        const Index dy = line % 2, dx = column % 2;
        pixel = (line / 2 + dy) * (y.width / 2 + 1) + column / 2 + dx;
        phase = 2 * dy + dx;
    }
};

template <class T>
struct PhasePixel {
    InterleavePhases p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const ImageShape& s = p.shape;
        const PhasePlace place(s, row);
        const Index small = (s.height / 2 + 1) * (s.width / 2 + 1);
        const T* x = static_cast<const T*>(p.x) +
                     ((place.image * small + place.pixel) * 4 + place.phase) * s.channels;
        T* y = static_cast<T*>(p.y) + row * s.channels;
        const float* bias = p.bias ? p.bias + place.image * p.biasStride : nullptr;
        team.template each<T>(s.channels, [&](auto at) VERGENCE_INLINE {
            auto value = load(x, at);
            if (bias)
                value = value + load(bias, at);
            store(y, at, value);
        });
    }
};

template <class T>
struct PhaseNumber {
    InterleavePhases p;

    VERGENCE_HD void operator()(Index item) const
    {
        const ImageShape& s = p.shape;
        const Index plane = item / s.pixels(), image = plane / s.channels;
        const PhasePlace place(s, image * s.pixels() + item % s.pixels());
        const Index small = (s.height / 2 + 1) * (s.width / 2 + 1);
        const Index channel = place.phase * s.channels + plane % s.channels;
        const T* x = static_cast<const T*>(p.x);
        const float bias = p.bias ? p.bias[image * p.biasStride + plane % s.channels] : 0.0f;
        static_cast<T*>(p.y)[item] = static_cast<T>(
            static_cast<float>(x[(image * 4 * s.channels + channel) * small + place.pixel]) + bias);
    }
};

void phasesBody(Stream& stream, const InterleavePhases& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const ImageShape& s = p.shape;
        if (s.channelsLast)
            forEachRow<T>(stream, s.images * s.pixels(), s.channels, PhasePixel<T>{p});
        else
            forEach(stream, s.size(), PhaseNumber<T>{p}, kElementGrain);
    });
}

template <class T>
struct SoftmaxRow {
    SoftmaxRows p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const float* scores = p.scores + row * p.columns;
        const float* bias = p.bias ? p.bias + row / p.rowsPerBias * p.columns : nullptr;
        T* out = static_cast<T*>(p.probabilities) + row * p.columns;
        const auto value = [&](auto at) VERGENCE_INLINE {
            const auto score = load(scores, at);
            return bias ? score + load(bias, at) : score;
        };
        LaneMaximum<float> most;
        team.template each<float>(p.columns,
                                  [&](auto at) VERGENCE_INLINE { most.add(at, value(at)); });
        const float top = team.largest(most);
        LaneSum<float> sum;
        team.template each<float>(
            p.columns, [&](auto at) VERGENCE_INLINE { sum.add(at, exponential(value(at) - top)); });
        const float scale = 1.0f / team.total(sum);
        team.template each<float>(p.columns, [&](auto at) VERGENCE_INLINE {
            store(out, at, exponential(value(at) - top) * scale);
        });
    }
};

void softmaxBody(Stream& stream, const SoftmaxRows& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<float>(stream, p.rows, p.columns, SoftmaxRow<T>{p});
    });
}

template <class T>
struct GatedRow {
    GatedGeluRows p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* x = static_cast<const T*>(p.x) + row * 2 * p.width;
        T* y = static_cast<T*>(p.y) + row * p.width;
        team.template each<T>(p.width, [&](auto at) VERGENCE_INLINE {
            const auto gate = activationValue<Activation::GeluErf>(load(x + p.width, at));
            store(y, at, load(x, at) * gate);
        });
    }
};

void gatedBody(Stream& stream, const GatedGeluRows& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, p.rows, 2 * p.width, GatedRow<T>{p});
    });
}

template <class T>
struct RareNumber {
    RareImage p;

    VERGENCE_HD void operator()(Index item) const
    {
        const ImageShape& to = p.to;
        const Index pixels = to.pixels();
        const Index image = item / (pixels * to.channels), rest = item % (pixels * to.channels);
        const Index channel = to.channelsLast ? rest % to.channels : rest / pixels;
        const Index pixel = to.channelsLast ? rest / to.channels : rest % pixels;
        static_cast<T*>(p.y)[item] = static_cast<T>(number(image, channel, pixel));
    }

private:
    VERGENCE_HD float x(Index image, Index channel, Index pixel) const
    {
        return static_cast<float>(static_cast<const T*>(p.x)[p.from.at(image, channel, pixel)]);
    }

    VERGENCE_HD float number(Index image, Index channel, Index pixel) const
    {
        const Index line = pixel / p.to.width, column = pixel % p.to.width;
        switch (p.kind) {
        case RareKind::Tanh:
            return std::tanh(x(image, channel, pixel));
        case RareKind::MaxPool2:
            return largest(image, channel, 2 * line * p.from.width + 2 * column);
        case RareKind::UpsampleBilinear2:
            return bilinear(image, channel, line, column);
        case RareKind::MeanPool:
            return mean(image, channel, line, column);
        case RareKind::AddTable:
            return x(image, channel, pixel) + p.table[pixel * p.to.channels + channel];
        case RareKind::Learned:
            return p.table[pixel * p.to.channels + channel];
        case RareKind::Plane:
            return static_cast<float>(p.scale) * p.numbers[image];
        case RareKind::Sinusoid:
            return sinusoid(image, channel);
        }
        return 0;
    }

    VERGENCE_HD float largest(Index image, Index channel, Index pixel) const
    {
        const float a = x(image, channel, pixel), b = x(image, channel, pixel + 1);
        const float c = x(image, channel, pixel + p.from.width);
        const float d = x(image, channel, pixel + p.from.width + 1);
        const float top = a > b ? a : b, bottom = c > d ? c : d;
        return top > bottom ? top : bottom;
    }

    VERGENCE_HD float bilinear(Index image, Index channel, Index line, Index column) const
    {
        // an even number lies a quarter behind its own sample, an odd one a quarter before the next
        const Index r = line / 2, s = column / 2;
        const Index r2 = line % 2 ? (r + 1 < p.from.height ? r + 1 : r) : (r > 0 ? r - 1 : r);
        const Index s2 = column % 2 ? (s + 1 < p.from.width ? s + 1 : s) : (s > 0 ? s - 1 : s);
        const Index w = p.from.width;
        const float near =
            0.75f * x(image, channel, r * w + s) + 0.25f * x(image, channel, r * w + s2);
        const float far =
            0.75f * x(image, channel, r2 * w + s) + 0.25f * x(image, channel, r2 * w + s2);
        return 0.75f * near + 0.25f * far;
    }

    VERGENCE_HD float mean(Index image, Index channel, Index line, Index column) const
    {
        const Index h = p.to.height, w = p.to.width;
        const Index top = line * p.from.height / h,
                    bottom = ((line + 1) * p.from.height + h - 1) / h;
        const Index left = column * p.from.width / w,
                    right = ((column + 1) * p.from.width + w - 1) / w;
        float sum = 0;
        for (Index r = top; r < bottom; ++r) {
            for (Index s = left; s < right; ++s)
                sum += x(image, channel, r * p.from.width + s);
        }
        return sum / static_cast<float>((bottom - top) * (right - left));
    }

    VERGENCE_HD float sinusoid(Index image, Index channel) const
    {
        const Index half = p.to.channels / 2;
        if (channel >= 2 * half)
            return 0;
        const double exponent = static_cast<double>(channel % half) / static_cast<double>(half);
        const double angle =
            p.scale * static_cast<double>(p.numbers[image]) * std::pow(10000.0, -exponent);
        return static_cast<float>(channel < half ? std::cos(angle) : std::sin(angle));
    }
};

void rareBody(Stream& stream, const RareImage& p)
{
    withType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, p.to.size(), RareNumber<T>{p});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(affineChannels, affineBody)
VERGENCE_REGISTER_KERNEL(importImages, importBody)
VERGENCE_REGISTER_KERNEL(exportImages, exportBody)
VERGENCE_REGISTER_KERNEL(interleavePhases, phasesBody)
VERGENCE_REGISTER_KERNEL(softmaxRows, softmaxBody)
VERGENCE_REGISTER_KERNEL(gatedGelu, gatedBody)
VERGENCE_REGISTER_KERNEL(rareImage, rareBody)

} // namespace vergence::live
