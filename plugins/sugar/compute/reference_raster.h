#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "plugins/sugar/compute/blend_math.h"
#include "plugins/sugar/compute/camera_view.h"
#include "plugins/sugar/compute/sh_math.h"

namespace vergence::sugar {

// The plain rasteriser that the fast ones are compared with: every pixel visits every Gaussian in
// the order of depth, no tiles, one thread, float or double.

/// Raw parameters in the layout of GaussianCloud; also their gradients.
template <class Real>
struct ReferenceParameters {
    int degree = 0;
    std::vector<Real> position, logScale, rotation, opacity, sh; ///< sh: [N, (D + 1)², 3]
    std::vector<Real> filter;                                    ///< [N] or empty

    std::size_t count() const { return opacity.size(); }

    /// The trained arrays one after the other, for finite differences.
    std::vector<std::vector<Real>*> groups()
    {
        return {&position, &logScale, &rotation, &opacity, &sh};
    }
};

struct ReferenceSettings {
    Camera camera;
    ScreenFilter<double> blur{0.3, false};
    double near = 0.2, far = 1e6;
    double background[3] = {0, 0, 0};
    bool isSmooth = false; ///< no alpha cut, no transmittance stop and no cull by opacity or box
};

/// [3, H, W], [H, W] and so on, as RasterImages; also gradients of the loss with respect to them
/// (`transmittance` then holds that of the coverage).
template <class Real>
struct ReferenceImages {
    std::vector<Real> colour, transmittance, depth, normal;
    std::vector<int> contributors;
    /// Least relative distance of an alpha from its cut, or of a transmittance from the stop.
    std::vector<Real> margin;
};

template <class Real>
class ReferenceRaster {
public:
    ReferenceRaster(const ReferenceParameters<Real>& parameters, const ReferenceSettings& settings)
        : m_parameters(parameters),
          m_settings(settings),
          m_view(cameraView<Real>(settings.camera, settings.near, settings.far)),
          m_blur{static_cast<Real>(settings.blur.variance), settings.blur.compensates}
    {
        if (settings.isSmooth)
            m_limits = {Real(0), Real(0)};
        for (std::size_t i = 0; i < parameters.count(); ++i)
            addSplat(i);
        std::stable_sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
            return m_splats[a].projection.depth < m_splats[b].projection.depth;
        });
    }

    /// One Gaussian as the pixels see it, in the order of the parameters.
    struct Splat {
        Projection<Real> projection;
        RawGaussian<Real> raw;
        Real direction[3], distance, colour[3];
        bool isVisible = false;
    };
    const std::vector<Splat>& splats() const { return m_splats; }

    ReferenceImages<Real> render() const
    {
        ReferenceImages<Real> images = blank();
        for (std::size_t pixel = 0; pixel < pixels(); ++pixel)
            renderPixel(pixel, images);
        return images;
    }

    /// Gradients of the parameters, given the images and the gradients of the loss with respect to
    /// them.
    ReferenceParameters<Real> backward(const ReferenceImages<Real>& images,
                                       const ReferenceImages<Real>& gradient) const
    {
        std::vector<SplatSums> sums(m_splats.size());
        for (std::size_t pixel = 0; pixel < pixels(); ++pixel)
            pixelBackward(pixel, images, gradient, sums);
        ReferenceParameters<Real> out = m_parameters;
        for (std::vector<Real>* group : out.groups())
            std::fill(group->begin(), group->end(), Real(0));
        for (const std::size_t i : m_order)
            splatBackward(i, sums[i], out);
        return out;
    }

private:
    struct SplatSums {
        QuadraticSums<Real> q;
        Real x[7] = {}; ///< colour, depth, normal
    };

    std::size_t width() const { return static_cast<std::size_t>(m_settings.camera.width); }
    std::size_t pixels() const
    {
        return width() * static_cast<std::size_t>(m_settings.camera.height);
    }

    ReferenceImages<Real> blank() const
    {
        const std::size_t p = pixels();
        ReferenceImages<Real> images;
        images.colour.assign(3 * p, Real(0));
        images.transmittance.assign(p, Real(1));
        images.depth.assign(p, Real(0));
        images.normal.assign(3 * p, Real(0));
        images.contributors.assign(p, 0);
        images.margin.assign(p, std::numeric_limits<Real>::infinity());
        return images;
    }

    void addSplat(std::size_t i)
    {
        const ReferenceParameters<Real>& from = m_parameters;
        Splat splat;
        for (std::size_t k = 0; k < 3; ++k) {
            splat.raw.position[k] = from.position[3 * i + k];
            splat.raw.logScale[k] = from.logScale[3 * i + k];
        }
        for (std::size_t k = 0; k < 4; ++k)
            splat.raw.rotation[k] = from.rotation[4 * i + k];
        splat.raw.opacity = from.opacity[i];
        splat.raw.filter = from.filter.empty() ? Real(0) : from.filter[i];
        splat.projection = project<Real>(m_view, m_blur, splat.raw);
        const Projection<Real>& p = splat.projection;
        splat.isVisible = p.depth > m_view.near && p.depth < m_view.far && p.determinant > 0 &&
                          std::isfinite(p.determinant) && std::isfinite(p.inverseNorm);
        if (splat.isVisible && !m_settings.isSmooth)
            splat.isVisible = touchesImage(p);
        colourOf(i, splat);
        m_splats.push_back(splat);
        if (splat.isVisible)
            m_order.push_back(i);
    }

    bool touchesImage(const Projection<Real>& p) const
    {
        if (p.opacity < m_limits.alphaCut)
            return false;
        const Real tau = std::log(p.opacity / m_limits.alphaCut);
        const Real rx = std::sqrt(2 * tau * p.a), ry = std::sqrt(2 * tau * p.c);
        return p.u + rx > 0 && p.u - rx < Real(m_view.width) && p.v + ry > 0 &&
               p.v - ry < Real(m_view.height);
    }

    void colourOf(std::size_t i, Splat& splat) const
    {
        Real offset[3];
        for (int k = 0; k < 3; ++k)
            offset[k] = splat.raw.position[k] - m_view.centre[k];
        splat.distance = std::sqrt(dot3(offset, offset));
        for (int k = 0; k < 3; ++k)
            splat.direction[k] = offset[k] / splat.distance;
        Real basis[16];
        shBasis<3>(splat.direction, basis);
        const auto n = static_cast<std::size_t>(shCoefficients(m_parameters.degree));
        for (std::size_t channel = 0; channel < 3; ++channel) {
            Real sum = Real(0.5);
            for (std::size_t k = 0; k < n; ++k)
                sum += basis[k] * m_parameters.sh[(i * n + k) * 3 + channel];
            splat.colour[channel] = std::max(Real(0), sum);
        }
    }

    /// Calls visit(splat index, sample, dx, dy) for what one pixel blends, front to back.
    template <class Visit>
    Real walk(std::size_t pixel, Real& margin, const Visit& visit) const
    {
        const Real x = Real(pixel % width()) + Real(0.5), y = Real(pixel / width()) + Real(0.5);
        Real transmittance = 1;
        for (const std::size_t i : m_order) {
            const Projection<Real>& p = m_splats[i].projection;
            const Real dx = p.u - x, dy = p.v - y;
            const AlphaSample<Real> sample =
                alphaAt(p.conicA, p.conicB, p.conicC, p.opacity, dx, dy, m_limits.alphaCut);
            margin = std::min(margin, std::abs(sample.alpha / Real(kAlphaCut) - 1));
            if (sample.isSkipped)
                continue;
            const Real next = transmittance * (1 - sample.alpha);
            margin = std::min(margin, std::abs(next / Real(kTransmittanceStop) - 1));
            if (next <= m_limits.transmittanceStop)
                break;
            visit(i, sample, dx, dy, sample.alpha * transmittance);
            transmittance = next;
        }
        return transmittance;
    }

    static Real channelOf(const Splat& splat, std::size_t k)
    {
        return k < 3    ? splat.colour[k]
               : k == 3 ? splat.projection.depth
                        : splat.projection.normal[k - 4];
    }

    void renderPixel(std::size_t pixel, ReferenceImages<Real>& images) const
    {
        const std::size_t p = pixels();
        images.transmittance[pixel] =
            walk(pixel, images.margin[pixel],
                 [&](std::size_t i, const AlphaSample<Real>&, Real, Real, Real weight) {
                     const Splat& splat = m_splats[i];
                     for (std::size_t k = 0; k < 3; ++k) {
                         images.colour[k * p + pixel] += weight * splat.colour[k];
                         images.normal[k * p + pixel] += weight * splat.projection.normal[k];
                     }
                     images.depth[pixel] += weight * splat.projection.depth;
                     ++images.contributors[pixel];
                 });
        for (std::size_t k = 0; k < 3; ++k)
            images.colour[k * p + pixel] +=
                images.transmittance[pixel] * static_cast<Real>(m_settings.background[k]);
    }

    void pixelBackward(std::size_t pixel, const ReferenceImages<Real>& images,
                       const ReferenceImages<Real>& gradient, std::vector<SplatSums>& sums) const
    {
        struct Visit {
            std::size_t i;
            AlphaSample<Real> sample;
            Real dx, dy;
        };
        std::vector<Visit> visits;
        Real margin = 0;
        walk(pixel, margin,
             [&](std::size_t i, const AlphaSample<Real>& sample, Real dx, Real dy, Real) {
                 visits.push_back({i, sample, dx, dy});
             });
        const std::size_t p = pixels();
        Real g[7], behind = -gradient.transmittance[pixel];
        for (std::size_t k = 0; k < 3; ++k) {
            g[k] = gradient.colour[k * p + pixel];
            g[4 + k] = gradient.normal[k * p + pixel];
            behind += static_cast<Real>(m_settings.background[k]) * g[k];
        }
        g[3] = gradient.depth[pixel];
        BackwardPixel<Real> state{images.transmittance[pixel],
                                  behind * images.transmittance[pixel]};
        for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit) {
            Real e = 0, weight = 0;
            for (std::size_t k = 0; k < 7; ++k)
                e += channelOf(m_splats[visit->i], k) * g[k];
            const Real gradAlpha = state.step(visit->sample.alpha, e, weight);
            SplatSums& to = sums[visit->i];
            for (std::size_t k = 0; k < 7; ++k)
                to.x[k] += weight * g[k];
            if (!visit->sample.isCapped)
                to.q.add(-visit->sample.alpha * gradAlpha, visit->dx, visit->dy);
        }
    }

    void splatBackward(std::size_t i, const SplatSums& sums, ReferenceParameters<Real>& out) const
    {
        const Splat& splat = m_splats[i];
        const Projection<Real>& p = splat.projection;
        SplatGradient<Real> g;
        g.u = p.conicA * sums.q.x + p.conicB * sums.q.y;
        g.v = p.conicB * sums.q.x + p.conicC * sums.q.y;
        g.conicA = sums.q.xx / 2;
        g.conicB = sums.q.xy;
        g.conicC = sums.q.yy / 2;
        g.opacity = -sums.q.one / p.opacity;
        g.depth = sums.x[3];
        std::copy_n(sums.x + 4, 3, g.normal);
        RawGradient<Real> raw;
        projectBackward(m_view, splat.raw, p, g, raw);
        colourBackward(i, sums.x, raw.position, out);
        for (std::size_t k = 0; k < 3; ++k) {
            out.position[3 * i + k] = raw.position[k];
            out.logScale[3 * i + k] = raw.logScale[k];
        }
        for (std::size_t k = 0; k < 4; ++k)
            out.rotation[4 * i + k] = raw.rotation[k];
        out.opacity[i] = raw.opacity;
    }

    void colourBackward(std::size_t i, const Real* gradColour, Real* gradPosition,
                        ReferenceParameters<Real>& out) const
    {
        const Splat& splat = m_splats[i];
        Real basis[16], weights[16] = {}, gradDirection[3];
        shBasis<3>(splat.direction, basis);
        const auto n = static_cast<std::size_t>(shCoefficients(m_parameters.degree));
        for (std::size_t channel = 0; channel < 3; ++channel) {
            if (!(splat.colour[channel] > 0))
                continue;
            for (std::size_t k = 0; k < n; ++k) {
                const std::size_t at = (i * n + k) * 3 + channel;
                out.sh[at] = basis[k] * gradColour[channel];
                weights[k] += gradColour[channel] * m_parameters.sh[at];
            }
        }
        shBasisBackward<3>(splat.direction, weights, gradDirection);
        const Real along = dot3(gradDirection, splat.direction);
        for (int k = 0; k < 3; ++k)
            gradPosition[k] += (gradDirection[k] - along * splat.direction[k]) / splat.distance;
    }

    ReferenceParameters<Real> m_parameters;
    ReferenceSettings m_settings;
    CameraView<Real> m_view;
    ScreenFilter<Real> m_blur;
    BlendLimits<Real> m_limits;
    std::vector<Splat> m_splats;
    std::vector<std::size_t> m_order; ///< visible Gaussians by depth
};

} // namespace vergence::sugar
