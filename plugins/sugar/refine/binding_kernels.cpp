#include "plugins/sugar/refine/binding_kernels.h"

#include "core/compute/launch.h"
#include "plugins/sugar/refine/binding_math.h"

namespace vergence::sugar {

namespace {

using Vector = Vec3<float>;

/// Place `row` of an array of vectors.
VERGENCE_HD Vector vectorAt(const float* values, Index row)
{
    return Vector::at(values + 3 * row);
}

VERGENCE_HD TriangleFrame<float> frameAt(const float* vertex, const std::int32_t* corners)
{
    return {vectorAt(vertex, corners[0]), vectorAt(vertex, corners[1]),
            vectorAt(vertex, corners[2])};
}

VERGENCE_HD void storeCorners(const CornerGradient<float>& grad, float* gradCorner, Index triangle)
{
    for (int k = 0; k < 3; ++k)
        grad.corner[k].store(gradCorner + 9 * triangle + 3 * k);
}

struct PlaceTriangle {
    PlaceArguments p;

    VERGENCE_HD void operator()(Index f) const
    {
        const std::int32_t* corners = p.triangle + 3 * f;
        const Vector v0 = vectorAt(p.vertex, corners[0]), v1 = vectorAt(p.vertex, corners[1]),
                     v2 = vectorAt(p.vertex, corners[2]);
        const TriangleFrame<float> frame(v0, v1, v2);
        for (int k = 0; k < p.rows.count; ++k) {
            const Index i = p.rows.count * f + k;
            const float* b = p.rows.barycentric[k];
            (b[0] * v0 + b[1] * v1 + b[2] * v2).store(p.position + 3 * i);
            p.logScales[3 * i] = p.logThickness;
            p.logScales[3 * i + 1] = p.logScale[2 * i];
            p.logScales[3 * i + 2] = p.logScale[2 * i + 1];
            const BoundAxes<float> axes(frame, p.turn[2 * i], p.turn[2 * i + 1]);
            quaternionOf(axes.axis, p.rotation + 4 * i);
        }
    }
};

void placeBoundBody(Stream& stream, const PlaceArguments& p)
{
    forEach(stream, p.triangles, PlaceTriangle{p});
}

struct PlaceTriangleBackward {
    PlaceBackwardArguments p;

    VERGENCE_HD void operator()(Index f) const
    {
        const TriangleFrame<float> frame = frameAt(p.vertex, p.triangle + 3 * f);
        CornerGradient<float> grad;
        FrameGradient<float> gradFrame;
        for (int k = 0; k < p.rows.count; ++k) {
            const Index i = p.rows.count * f + k;
            const Vector g = vectorAt(p.gradPosition, i);
            for (int corner = 0; corner < 3; ++corner)
                grad.corner[corner] = grad.corner[corner] + p.rows.barycentric[k][corner] * g;
            for (int axis = 0; axis < 2; ++axis)
                p.gradLogScale[2 * i + axis] = p.gradLogScales[3 * i + 1 + axis];
            const BoundAxes<float> axes(frame, p.turn[2 * i], p.turn[2 * i + 1]);
            Vector gradAxis[3];
            rotationGradient(axes.axis, p.rotation + 4 * i, p.gradRotation + 4 * i, gradAxis);
            axes.backward(frame, gradAxis, gradFrame, p.gradTurn + 2 * i);
        }
        frameBackward(frame, gradFrame, grad);
        const bool isFlipped =
            p.initialNormal && inner(frame.normal, vectorAt(p.initialNormal, f)) < p.leastCosine;
        storeCorners(isFlipped ? CornerGradient<float>{} : grad, p.gradCorner, f);
    }
};

void placeBoundBackwardBody(Stream& stream, const PlaceBackwardArguments& p)
{
    forEach(stream, p.triangles, PlaceTriangleBackward{p});
}

struct GatherVertex {
    CornerArguments p;

    VERGENCE_HD void operator()(Index v) const
    {
        Vector sum;
        for (std::int32_t i = p.start[v]; i < p.start[v + 1]; ++i)
            sum = sum + vectorAt(p.gradCorner, p.corner[i]);
        if (p.adds)
            sum = sum + vectorAt(p.gradVertex, v);
        sum.store(p.gradVertex + 3 * v);
    }
};

void gatherCornersBody(Stream& stream, const CornerArguments& p)
{
    forEach(stream, p.vertices, GatherVertex{p});
}

struct NormalOfTriangle {
    NormalArguments p;

    VERGENCE_HD void operator()(Index f) const
    {
        frameAt(p.vertex, p.triangle + 3 * f).normal.store(p.normal + 3 * f);
    }
};

void triangleNormalsBody(Stream& stream, const NormalArguments& p)
{
    forEach(stream, p.triangles, NormalOfTriangle{p});
}

VERGENCE_HD Vector sumOfNeighbours(const ConsistencyArguments& p, Index f)
{
    Vector sum;
    for (std::int32_t i = p.start[f]; i < p.start[f + 1]; ++i)
        sum = sum + vectorAt(p.normal, p.neighbour[i]);
    return sum;
}

struct ConsistencyValue {
    ConsistencyArguments p;

    VERGENCE_HD double operator()(Index f) const
    {
        const auto count = static_cast<double>(p.start[f + 1] - p.start[f]);
        return count - static_cast<double>(inner(vectorAt(p.normal, f), sumOfNeighbours(p, f)));
    }
};

struct ConsistencyBackward {
    ConsistencyArguments p;

    VERGENCE_HD void operator()(Index f) const
    {
        CornerGradient<float> grad;
        normalBackward(frameAt(p.vertex, p.triangle + 3 * f), -p.factor * sumOfNeighbours(p, f),
                       grad);
        storeCorners(grad, p.gradCorner, f);
    }
};

void normalConsistencyBody(Stream& stream, const ConsistencyArguments& p)
{
    forEach(stream, p.triangles, ConsistencyBackward{p});
    *p.sum = reduceSum(stream, p.triangles, ConsistencyValue{p});
}

struct SmoothingDirection {
    SmoothingArguments p;

    VERGENCE_HD void operator()(Index v) const
    {
        Vector sum;
        const std::int32_t first = p.start[v], last = p.start[v + 1];
        for (std::int32_t i = first; i < last; ++i)
            sum = sum + vectorAt(p.vertex, p.neighbour[i]);
        const Vector delta =
            first == last ? Vector{}
                          : (1.0F / static_cast<float>(last - first)) * sum - vectorAt(p.vertex, v);
        const float size = length(delta);
        (inverseOrZero(size) * delta).store(p.direction + 4 * v);
        p.direction[4 * v + 3] = size;
    }
};

struct SmoothingGradient {
    SmoothingArguments p;

    VERGENCE_HD void operator()(Index v) const
    {
        Vector sum = -1.0F * Vector::at(p.direction + 4 * v);
        for (std::int32_t i = p.start[v]; i < p.start[v + 1]; ++i) {
            const Index u = p.neighbour[i];
            const auto degree = static_cast<float>(p.start[u + 1] - p.start[u]);
            sum = sum + (1.0F / degree) * Vector::at(p.direction + 4 * u);
        }
        (vectorAt(p.gradVertex, v) + p.factor * sum).store(p.gradVertex + 3 * v);
    }
};

struct SmoothingValue {
    const float* direction;

    VERGENCE_HD double operator()(Index v) const
    {
        return static_cast<double>(direction[4 * v + 3]);
    }
};

void uniformSmoothingBody(Stream& stream, const SmoothingArguments& p)
{
    forEach(stream, p.vertices, SmoothingDirection{p});
    forEach(stream, p.vertices, SmoothingGradient{p});
    *p.sum = reduceSum(stream, p.vertices, SmoothingValue{p.direction});
}

} // namespace

VERGENCE_REGISTER_KERNEL(placeBound, placeBoundBody)
VERGENCE_REGISTER_KERNEL(placeBoundBackward, placeBoundBackwardBody)
VERGENCE_REGISTER_KERNEL(gatherCorners, gatherCornersBody)
VERGENCE_REGISTER_KERNEL(triangleNormals, triangleNormalsBody)
VERGENCE_REGISTER_KERNEL(normalConsistency, normalConsistencyBody)
VERGENCE_REGISTER_KERNEL(uniformSmoothing, uniformSmoothingBody)

} // namespace vergence::sugar
