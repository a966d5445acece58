#include "plugins/live_diffusion/engine/lowering.h"

#include <algorithm>

#include "core/base/error.h"

namespace vergence::live {

namespace {

bool isPointwise(const ProgramOp& op)
{
    return op.kind == OpKind::Convolution && op.kernel == 1 && op.stride == 1 && op.padding == 0;
}

/// Whether this kind works on rows of channels.
bool wantsChannelsLast(OpKind kind)
{
    return kind == OpKind::Linear || kind == OpKind::LayerNorm || kind == OpKind::GatedGelu ||
           kind == OpKind::SelfAttention || kind == OpKind::CrossAttention;
}

bool isRare(OpKind kind)
{
    switch (kind) {
    case OpKind::Tanh:
    case OpKind::AddTable:
    case OpKind::UpsampleBilinear2:
    case OpKind::MaxPool2:
    case OpKind::AdaptiveMeanPool:
    case OpKind::Sinusoid:
    case OpKind::Plane:
    case OpKind::Learned:
        return true;
    default:
        return false;
    }
}

/// Where a value lies: in one order, in both, or as the two values that it joins.
struct Place {
    int channelsLast = -1, planar = -1; ///< buffers
    std::vector<int> parts;
};

class Lowering {
public:
    Lowering(const Program& program, const LoweringSettings& settings)
        : m_program(program),
          m_settings(settings),
          m_readers(program.readers()),
          m_places(program.values.size()),
          m_isDone(program.ops.size(), false)
    {
    }

    StepList run()
    {
        for (int i = 0; i < static_cast<int>(m_program.ops.size()); ++i) {
            if (runs(i) && !m_isDone[index(i)])
                lower(i);
        }
        for (const int value : m_program.outputs)
            finishOutput(value);
        shareMemory();
        return std::move(m_list);
    }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    bool runs(int op) const { return m_settings.runs(m_program.op(op)); }
    bool isPlanar() const { return m_settings.layout == Layout::Nchw; }
    bool isOutput(int value) const
    {
        return std::find(m_program.outputs.begin(), m_program.outputs.end(), value) !=
               m_program.outputs.end();
    }
    bool isInput(int value) const { return m_program.value(value).producer < 0; }

    /// The only operation that reads a value, if it runs and nothing else needs the value; −1.
    int onlyReader(int value) const
    {
        int found = -1;
        for (const int op : m_readers[index(value)]) {
            if (!runs(op))
                continue;
            if (found >= 0)
                return -1;
            found = op;
        }
        return isOutput(value) ? -1 : found;
    }

    int addBuffer(const ProgramValue& value, bool channelsLast)
    {
        m_list.buffers.push_back({value.channels, value.height, value.width, channelsLast, -1});
        return static_cast<int>(m_list.buffers.size()) - 1;
    }

    /// A buffer that holds the value in the order wanted; copies it there where need be.
    int buffer(int value, bool channelsLast)
    {
        Place& place = m_places[index(value)];
        if (!place.parts.empty() && place.channelsLast < 0 && place.planar < 0)
            joinParts(value);
        int& wanted = channelsLast ? place.channelsLast : place.planar;
        const int other = channelsLast ? place.planar : place.channelsLast;
        if (wanted >= 0)
            return wanted;
        const ProgramValue& shape = m_program.value(value);
        if (other < 0) {
            expects(isInput(value), "lowerProgram: an operation reads what no step writes");
            return wanted = import({value}, value, -1, channelsLast);
        }
        Step step;
        step.kind = StepKind::Relayout;
        step.inputs = {other};
        step.output = wanted = addBuffer(shape, channelsLast);
        m_list.steps.push_back(step);
        return wanted;
    }

    int import(std::vector<int> sources, int value, int op, bool channelsLast)
    {
        Step step;
        step.kind = StepKind::Import;
        step.op = op;
        step.sources = std::move(sources);
        step.output = addBuffer(m_program.value(value), channelsLast);
        m_list.steps.push_back(step);
        return step.output;
    }

    bool isChannelsLast(int value) const
    {
        const Place& place = m_places[index(value)];
        if (place.channelsLast >= 0 || place.planar >= 0)
            return place.channelsLast >= 0;
        return !isPlanar();
    }

    void setPlace(int value, int buffer)
    {
        Place& place = m_places[index(value)];
        (m_list.buffers[index(buffer)].channelsLast ? place.channelsLast : place.planar) = buffer;
    }

    void lower(int i)
    {
        const ProgramOp& op = m_program.op(i);
        m_isDone[index(i)] = true;
        switch (op.kind) {
        case OpKind::Convolution:
        case OpKind::TransposedConvolution:
        case OpKind::Linear:
            return lowerProduct(i);
        case OpKind::UpsampleNearest2:
            return lowerUpsample(i);
        case OpKind::GroupNorm:
            return lowerNorm(i);
        case OpKind::Concat:
            return lowerConcat(i);
        case OpKind::Slice:
            return lowerSlice(i);
        case OpKind::CrossAttention:
            return lowerCross(i);
        default:
            return lowerPlain(i);
        }
    }

    StepKind plainKind(const ProgramOp& op) const
    {
        switch (op.kind) {
        case OpKind::LayerNorm:
            return StepKind::LayerNorm;
        case OpKind::BatchNorm:
        case OpKind::AddChannels:
            return StepKind::Affine;
        case OpKind::Silu:
            return StepKind::Silu;
        case OpKind::Gelu:
            return StepKind::Gelu;
        case OpKind::GatedGelu:
            return StepKind::GatedGelu;
        case OpKind::Add:
            return StepKind::Add;
        case OpKind::SelfAttention:
            return StepKind::SelfAttention;
        default:
            expects(isRare(op.kind), "lowerProgram: an operation of unknown kind");
            return StepKind::Rare;
        }
    }

    void lowerPlain(int i)
    {
        const ProgramOp& op = m_program.op(i);
        Step step;
        step.kind = plainKind(op);
        step.op = i;
        const bool readsNumbers = op.kind == OpKind::Plane || op.kind == OpKind::Sinusoid;
        const bool channelsLast =
            wantsChannelsLast(op.kind) ||
            (op.inputs.empty() || readsNumbers ? !isPlanar() : isChannelsLast(op.inputs[0]));
        if (readsNumbers) {
            step.sources = op.inputs;
        } else if (op.kind == OpKind::AddChannels) {
            step.inputs = {buffer(op.inputs[0], channelsLast)};
            step.time = i;
            step.ownsBias = false;
        } else {
            for (const int input : op.inputs)
                step.inputs.push_back(buffer(input, channelsLast));
        }
        if (op.kind == OpKind::BatchNorm)
            step.batchNorm = i;
        emit(step, op.output, channelsLast);
    }

    void emit(Step& step, int value, bool channelsLast)
    {
        step.output = addBuffer(m_program.value(value), channelsLast);
        setPlace(value, step.output);
        m_list.steps.push_back(step);
    }

    /// Convolutions and linear layers with what follows them.
    void lowerProduct(int i)
    {
        const ProgramOp& op = m_program.op(i);
        const bool channelsLast = op.kind == OpKind::Linear || !isPlanar();
        Step step;
        step.op = i;
        step.kind = op.kind == OpKind::TransposedConvolution ? StepKind::TransposedConvolution
                    : op.kind == OpKind::Linear || (channelsLast && isPointwise(op))
                        ? StepKind::Linear
                        : StepKind::Convolution;
        const Place& source = m_places[index(op.inputs[0])];
        const bool isJoined = step.kind == StepKind::Linear && source.parts.size() == 2 &&
                              source.channelsLast < 0 && source.planar < 0;
        if (isJoined) {
            step.kind = StepKind::JoinedLinear;
            for (const int part : source.parts)
                step.inputs.push_back(buffer(part, true));
        } else {
            step.inputs = {buffer(op.inputs[0], channelsLast)};
        }
        finishProduct(step, channelsLast);
    }

    void finishProduct(Step& step, bool channelsLast)
    {
        const ProgramOp& op = m_program.op(step.op);
        if (m_settings.fusion) {
            const int value = absorb(step, op.output, channelsLast);
            return emit(step, value, channelsLast);
        }
        const bool isConvolution = op.kind != OpKind::Linear;
        const int reader = onlyReader(op.output);
        if (op.kind == OpKind::Linear && op.bias < 0 && reader >= 0 &&
            m_program.op(reader).kind == OpKind::SelfAttention)
            step.kind = StepKind::QkvLinear;
        step.ownsBias = !isConvolution;
        emit(step, op.output, channelsLast);
        if (isConvolution && op.bias >= 0)
            addBias(step.op, channelsLast);
    }

    /// The bias of a convolution as an operation of its own, in place.
    void addBias(int i, bool channelsLast)
    {
        const int value = m_program.op(i).output;
        Step step;
        step.kind = StepKind::Affine;
        step.op = i;
        step.inputs = {buffer(value, channelsLast)};
        emit(step, value, channelsLast);
    }

    /// Takes up what follows a product as far as one call can do it; the value that comes out.
    int absorb(Step& step, int value, bool channelsLast)
    {
        const bool takesExtras = step.kind != StepKind::TransposedConvolution;
        for (;;) {
            const int reader = onlyReader(value);
            if (reader < 0 || m_isDone[index(reader)] || !takesExtras)
                return value;
            const ProgramOp& next = m_program.op(reader);
            const bool isPlain = step.time < 0 && !step.silu && step.residual < 0;
            if (next.kind == OpKind::BatchNorm && isPlain && step.batchNorm < 0)
                step.batchNorm = reader;
            else if (next.kind == OpKind::AddChannels && next.inputs[0] == value && isPlain &&
                     isGiven(next.inputs[1]))
                step.time = reader;
            else if (next.kind == OpKind::Silu && !step.silu && step.residual < 0 &&
                     step.kind != StepKind::JoinedLinear)
                step.silu = true;
            else if (next.kind == OpKind::Add && step.residual < 0 &&
                     takeResidual(step, next, value, channelsLast))
                ;
            else
                return value;
            m_isDone[index(reader)] = true;
            value = next.output;
        }
    }

    bool isGiven(int value) const
    {
        const int producer = m_program.value(value).producer;
        return producer < 0 || !runs(producer);
    }

    bool takeResidual(Step& step, const ProgramOp& add, int value, bool channelsLast)
    {
        if (add.inputs.size() != 2 || add.inputs[0] == add.inputs[1])
            return false;
        const int other = add.inputs[0] == value ? add.inputs[1] : add.inputs[0];
        const Place& place = m_places[index(other)];
        const bool isThere = place.channelsLast >= 0 || place.planar >= 0 || isInput(other);
        if (!isThere)
            return false;
        step.residual = buffer(other, channelsLast);
        return true;
    }

    void lowerUpsample(int i)
    {
        const ProgramOp& op = m_program.op(i);
        const bool channelsLast = isChannelsLast(op.inputs[0]);
        const int reader = onlyReader(op.output);
        Step step;
        step.op = i;
        step.inputs = {buffer(op.inputs[0], channelsLast)};
        const bool isFused = m_settings.fusion && reader >= 0 &&
                             isUpsampled(m_program.op(reader)) && channelsLast == !isPlanar();
        if (!isFused) {
            step.kind = StepKind::Upsample;
            return emit(step, op.output, channelsLast);
        }
        m_isDone[index(reader)] = true;
        step.kind = StepKind::UpsampledConvolution;
        step.op = reader;
        emit(step, m_program.op(reader).output, channelsLast);
    }

    static bool isUpsampled(const ProgramOp& op)
    {
        return op.kind == OpKind::Convolution && op.kernel == 3 && op.stride == 1 &&
               op.padding == 1;
    }

    void lowerNorm(int i)
    {
        const ProgramOp& op = m_program.op(i);
        const Place& source = m_places[index(op.inputs[0])];
        Step step;
        step.kind = StepKind::Norm;
        step.op = i;
        const bool isJoined =
            source.parts.size() == 2 && source.channelsLast < 0 && source.planar < 0;
        const bool channelsLast = isJoined || isChannelsLast(op.inputs[0]);
        if (isJoined) {
            for (const int part : source.parts)
                step.inputs.push_back(buffer(part, true));
        } else {
            step.inputs = {buffer(op.inputs[0], channelsLast)};
        }
        int value = op.output;
        const int reader = onlyReader(value);
        if (m_settings.fusion && reader >= 0 && m_program.op(reader).kind == OpKind::Silu) {
            step.silu = true;
            m_isDone[index(reader)] = true;
            value = m_program.op(reader).output;
        }
        emit(step, value, channelsLast);
    }

    void lowerConcat(int i)
    {
        const ProgramOp& op = m_program.op(i);
        const bool areInputs =
            op.inputs.size() <= 3 && std::all_of(op.inputs.begin(), op.inputs.end(),
                                                 [&](int value) { return isInput(value); });
        if (areInputs && (m_settings.fusion || op.inputs.size() == 1))
            return setPlace(op.output, import(op.inputs, op.output, i, !isPlanar()));
        m_places[index(op.output)].parts = op.inputs;
        if (!m_settings.fusion || !staysApart(op))
            joinParts(op.output);
    }

    /// Whether all that read a concatenation can read its two parts.
    bool staysApart(const ProgramOp& op) const
    {
        Index channels = 0;
        for (const int input : op.inputs)
            channels += m_program.value(input).channels;
        if (isPlanar() || isOutput(op.output) || op.inputs.size() != 2 ||
            channels != m_program.value(op.output).channels)
            return false;
        return std::all_of(m_readers[index(op.output)].begin(), m_readers[index(op.output)].end(),
                           [&](int reader) {
                               const ProgramOp& next = m_program.op(reader);
                               return next.kind == OpKind::GroupNorm ||
                                      next.kind == OpKind::Linear || isPointwise(next);
                           });
    }

    void joinParts(int value)
    {
        const std::vector<int> parts = m_places[index(value)].parts;
        const bool channelsLast = isChannelsLast(parts.front());
        Step step;
        step.kind = StepKind::Concat;
        step.op = m_program.value(value).producer;
        for (const int part : parts)
            step.inputs.push_back(buffer(part, channelsLast));
        emit(step, value, channelsLast);
    }

    void lowerSlice(int i)
    {
        const ProgramOp& op = m_program.op(i);
        const bool isExported = m_settings.fusion && m_settings.exportsOutputs &&
                                isOutput(op.output) && m_readers[index(op.output)].empty();
        const bool channelsLast = isChannelsLast(op.inputs[0]);
        Step step;
        step.op = i;
        step.inputs = {buffer(op.inputs[0], channelsLast)};
        step.firstChannel = op.first;
        if (!isExported) {
            step.kind = StepKind::Slice;
            return emit(step, op.output, channelsLast);
        }
        step.kind = StepKind::Export;
        step.target = op.output;
        m_list.steps.push_back(step);
        m_exported.push_back(op.output);
    }

    void lowerCross(int i)
    {
        const ProgramOp& op = m_program.op(i);
        Step step;
        step.kind = StepKind::CrossAttention;
        step.op = i;
        step.inputs = {buffer(op.inputs[0], true)};
        step.sources = {op.inputs[1], op.inputs[2]};
        for (const int source : step.sources)
            expects(isGiven(source), "lowerProgram: keys of cross-attention come from outside");
        emit(step, op.output, true);
    }

    void finishOutput(int value)
    {
        const bool isHere = isInput(value) || runs(m_program.value(value).producer);
        if (!m_settings.exportsOutputs) {
            m_list.outputs.push_back(isHere ? buffer(value, true) : -1);
            return;
        }
        if (!isHere || std::find(m_exported.begin(), m_exported.end(), value) != m_exported.end())
            return;
        Step step;
        step.kind = StepKind::Export;
        step.op = m_program.value(value).producer;
        step.inputs = {buffer(value, isChannelsLast(value))};
        step.target = value;
        m_list.steps.push_back(step);
    }

    /// Results take the place of what they were made of where nothing reads that any more.
    void shareMemory()
    {
        std::vector<int> last(m_list.buffers.size(), -1), root(m_list.buffers.size());
        for (std::size_t b = 0; b < root.size(); ++b)
            root[b] = static_cast<int>(b);
        for (int s = 0; s < static_cast<int>(m_list.steps.size()); ++s) {
            const Step& step = m_list.steps[index(s)];
            for (const int input : step.inputs)
                last[index(input)] = s;
            if (step.residual >= 0)
                last[index(step.residual)] = s;
        }
        for (const int output : m_list.outputs) {
            if (output >= 0)
                last[index(output)] = static_cast<int>(m_list.steps.size());
        }
        for (int s = 0; s < static_cast<int>(m_list.steps.size()); ++s) {
            const Step& step = m_list.steps[index(s)];
            const int candidate = sharedCandidate(step);
            if (candidate < 0 || last[index(root[index(candidate)])] != s)
                continue;
            const int place = root[index(candidate)];
            m_list.buffers[index(step.output)].alias = place;
            root[index(step.output)] = place;
            last[index(place)] = last[index(step.output)];
        }
    }

    int sharedCandidate(const Step& step) const
    {
        const bool isPointwiseStep = step.kind == StepKind::Affine || step.kind == StepKind::Silu ||
                                     step.kind == StepKind::Gelu || step.kind == StepKind::Add;
        const int candidate = isPointwiseStep ? step.inputs[0] : step.residual;
        if (candidate < 0 || step.output < 0)
            return -1;
        const auto count = std::count(step.inputs.begin(), step.inputs.end(), candidate);
        if (count != (isPointwiseStep ? 1 : 0))
            return -1;
        const Buffer &from = m_list.buffers[index(candidate)],
                     &to = m_list.buffers[index(step.output)];
        return from.size() == to.size() && from.channelsLast == to.channelsLast ? candidate : -1;
    }

    const Program& m_program;
    const LoweringSettings& m_settings;
    std::vector<std::vector<int>> m_readers;
    std::vector<Place> m_places;
    std::vector<bool> m_isDone;
    std::vector<int> m_exported;
    StepList m_list;
};

} // namespace

StepList lowerProgram(const Program& program, const LoweringSettings& settings)
{
    expects(settings.runs != nullptr, "lowerProgram: which operations run is not said");
    return Lowering(program, settings).run();
}

} // namespace vergence::live
