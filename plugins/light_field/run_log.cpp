#include "plugins/light_field/run_log.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/log.h"

namespace vergence::light_field {

namespace {

spdlog::logger& ownLog()
{
    return log("light_field");
}

std::string millions(double count)
{
    return count < 1e6 ? fmt::format("{:.0f}", count) : fmt::format("{:.1f} million", count / 1e6);
}

std::string operatorText(const LinearOperator& op)
{
    return fmt::format("{} rays a pass over {} eye states of {}² pixels to {} texels of {} planes, "
                       "{:.1f} MB",
                       millions(op.raysPerPass()), op.states(), op.resolution(),
                       millions(static_cast<double>(op.unknowns())), op.planes(),
                       static_cast<double>(op.bytes()) / 1e6);
}

std::string decibels(double value)
{
    return std::isnan(value) ? "not measured" : fmt::format("{:.2f} dB", value);
}

} // namespace

void logGeometry(const Geometry& geometry, double seconds)
{
    ownLog().info("Operators built in {:.2f} s.", seconds);
    ownLog().info("Training: {}.", operatorText(*geometry.solving));
    if (const auto* seed = dynamic_cast<const SeedOperator*>(geometry.solving.get()))
        ownLog().info("Of the training rays {} arrive (the operator's non-zeros); they light {} of "
                      "{} pixels, and a texel is touched {} times at most.",
                      seed->counts().validRays, seed->counts().litPixels, seed->measurements(),
                      seed->counts().touchedMost);
    ownLog().info("Held out: {}.", operatorText(*geometry.evaluating));
}

void logTargets(std::size_t items, const Geometry& geometry, double seconds)
{
    ownLog().info("Targets of {} {} rendered in {:.2f} s for {} training and {} held-out states.",
                  items, items == 1 ? "item" : "items", seconds, geometry.training.size(),
                  geometry.heldOut.size());
}

void logItemStart(const SweepItem& item, int number, int count)
{
    const LightFieldConfig& c = item.config;
    const std::string how = c.solver == "direct" ? "direct blending, no iterations"
                                                 : fmt::format("{}, {} iterations from {}",
                                                               c.solver, c.iterations, c.init);
    ownLog().info("{} ({} of {}) starts: {}, {} {}.", item.label, number, count, how, item.channels,
                  item.channels == 1 ? "channel" : "channels");
}

void logItemEnd(const SweepItem& item, const ItemResult& result)
{
    ownLog().info("{} is solved in {:.2f} s: {} iterations, mean squared error {:.4g} to {:.4g}, "
                  "ROI PSNR {} in training, {} held out.",
                  item.label, result.seconds, result.iterations, result.mseFirst, result.mseFinal,
                  decibels(result.training.psnrRoi), decibels(result.heldOut.psnrRoi));
}

} // namespace vergence::light_field
