#include "plugins/live_diffusion/engine/frame_kernels.h"

#include "core/compute/launch.h"
#include "plugins/live_diffusion/model/blend_math.h"

namespace vergence::live {

namespace {

VERGENCE_HD bool isNumber(float value)
{
    return value - value == 0;
}

VERGENCE_HD float clampedToOne(float value)
{
    value = value < -1.0f ? -1.0f : value;
    return value > 1.0f ? 1.0f : value;
}

struct StartFrame {
    FrameStart p;

    VERGENCE_HD float pictureAt(FramePicture which, Index i) const
    {
        if (which == FramePicture::None)
            return 0;
        return which == FramePicture::Input ? p.input[i] : p.last[i];
    }
    VERGENCE_HD void operator()(Index i) const
    {
        const FrameNumbers& n = *p.numbers;
        float noise = p.startNoise[i];
        if (p.ownNoise && n.ownShare != 0)
            noise = n.startShare * noise + n.ownShare * p.ownNoise[i];
        const float spread = n.spread * noise;
        p.x[i] = n.start == FramePicture::None ? spread : n.signal * pictureAt(n.start, i) + spread;
        p.u[i] = n.seesInput ? p.input[i] : 0.0f;
        const float fresh = n.historyNoise > 0 ? p.historyNoise[i] : 0.0f;
        p.h[i] = n.history == FramePicture::None
                     ? 0.0f
                     : n.historyShare * pictureAt(n.history, i) + n.historyNoise * fresh;
        p.reference[i] = pictureAt(n.reference, i);
    }
};

struct TakeTime {
    FrameTime p;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index row = p.numbers->steps[p.step].timeRow;
        p.addends[i] = p.table[row * p.width + i % p.width];
    }
};

struct StepFrame {
    FrameStep p;

    /// The prediction with guidance.
    VERGENCE_HD float guided(const FrameNumbers::Step& at, float x, float prediction, Index i) const
    {
        const float gamma = p.numbers->gamma, delta = p.numbers->delta;
        if (p.guidance == GuidanceKind::Full)
            return guidedNoise(prediction, p.unconditional[i], gamma, 1.0f);
        if (p.unconditional)
            p.reference[i] = cleanFrom(p.kind, x, p.unconditional[i], at.alpha, at.sigma);
        const float conditional = noiseFrom(p.kind, x, prediction, at.alpha, at.sigma);
        const float negative = virtualNegative(x, p.reference[i], at.alpha, at.sigma);
        const float noise = guidedNoise(conditional, negative, gamma, delta);
        return p.kind == Prediction::V ? (noise - at.sigma * x) / at.alpha : noise;
    }
    VERGENCE_HD void operator()(Index i) const
    {
        const FrameNumbers::Step& at = p.numbers->steps[p.step];
        const StepCoefficients<float>& c = at.sampler;
        const float x = p.x[i];
        float prediction = p.prediction[i];
        if (p.guidance != GuidanceKind::None && at.isGuided)
            prediction = guided(at, x, prediction, i);
        float estimate = c.fromX * x + c.fromPrediction * prediction;
        if (p.clamps)
            estimate = clampedToOne(estimate);
        const float kept = c.keepX * x + c.keepClean * estimate;
        float next = c.nextX * x + c.nextClean * kept;
        if (c.nextPrevious != 0)
            next += c.nextPrevious * p.previousClean[i];
        else if (p.noise)
            next += c.nextNoise * p.noise[i];
        p.clean[i] = kept;
        p.x[i] = next;
        const bool isBad = !isNumber(kept) || (i < p.cells && !isNumber(p.logits[i]));
        p.bad[i] = (p.step > 0 ? p.bad[i] : 0.0f) + (isBad ? 1.0f : 0.0f);
    }
};

struct BadCount {
    const float* bad;
    VERGENCE_HD float operator()(Index i) const { return bad[i]; }
};

struct BlendFrame {
    FrameBlend p;

    VERGENCE_HD void operator()(Index cell) const
    {
        if (*p.badSum != 0)
            return;
        const FrameNumbers& n = *p.numbers;
        const float ofLast = 1.0f - BlendShare<float>(p.logits[cell], n.blend).ofNew;
        for (Index channel = 0; channel < p.channels; ++channel) {
            const Index i = channel * p.cells + cell;
            const float clean = p.clean[i], last = n.isAlone ? clean : p.picture[i];
            p.picture[i] = clampedToOne(clean + ofLast * (last - clean));
        }
    }
};

struct CopyToSlot {
    SlotCopy p;

    VERGENCE_HD void operator()(Index i) const
    {
        if (*p.badSum == 0)
            p.bank[p.numbers->slot * p.words + i] = p.rows[i];
    }
};

void startFrameBody(Stream& stream, const FrameStart& start)
{
    forEach(stream, start.values, StartFrame{start});
}

void frameTimeBody(Stream& stream, const FrameTime& time)
{
    forEach(stream, time.rows * time.width, TakeTime{time});
}

void frameStepBody(Stream& stream, const FrameStep& step)
{
    forEach(stream, step.values, StepFrame{step});
}

void frameBlendBody(Stream& stream, const FrameBlend& blend)
{
    reduceInto(stream, blend.channels * blend.cells, BadCount{blend.bad}, Plus{}, 0.0f,
               blend.badSum);
    forEach(stream, blend.cells, BlendFrame{blend});
}

void copyToSlotBody(Stream& stream, const SlotCopy& copy)
{
    forEach(stream, copy.words, CopyToSlot{copy});
}

} // namespace

VERGENCE_REGISTER_KERNEL(startFrameKernel, startFrameBody)
VERGENCE_REGISTER_KERNEL(frameTimeKernel, frameTimeBody)
VERGENCE_REGISTER_KERNEL(frameStepKernel, frameStepBody)
VERGENCE_REGISTER_KERNEL(frameBlendKernel, frameBlendBody)
VERGENCE_REGISTER_KERNEL(copyToSlotKernel, copyToSlotBody)

} // namespace vergence::live
