// Reads a PoissonRequest from standard input, writes the PoissonReply to standard output, and says
// on standard error why it could not. The only file that knows Open3D.

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

#include <open3d/geometry/PointCloud.h>
#include <open3d/geometry/TriangleMesh.h>

#include "plugins/sugar/surface/open3d/poisson_message.h"

namespace {

using namespace vergence::sugar;

template <class T>
std::vector<T> readAll(std::FILE* from, std::size_t count)
{
    std::vector<T> values(count);
    if (std::fread(values.data(), sizeof(T), count, from) != count)
        throw std::runtime_error("the request ends too early");
    return values;
}

template <class T>
void writeAll(std::FILE* to, const std::vector<T>& values)
{
    if (std::fwrite(values.data(), sizeof(T), values.size(), to) != values.size())
        throw std::runtime_error("the reply cannot be written");
}

std::vector<Eigen::Vector3d> vectorsOf(const std::vector<float>& values)
{
    std::vector<Eigen::Vector3d> result(values.size() / 3);
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = {values[3 * i], values[3 * i + 1], values[3 * i + 2]};
    return result;
}

void answer(std::FILE* from, std::FILE* to)
{
    const PoissonRequest request = readAll<PoissonRequest>(from, 1).front();
    if (request.magic != kPoissonMagic)
        throw std::runtime_error("the request is not one of this version");
    open3d::geometry::PointCloud cloud;
    cloud.points_ = vectorsOf(readAll<float>(from, 3 * request.points));
    cloud.normals_ = vectorsOf(readAll<float>(from, 3 * request.points));
    constexpr int kThreads = 1; // sums of several are not in the same order every time
    const auto [mesh, density] = open3d::geometry::TriangleMesh::CreateFromPointCloudPoisson(
        cloud, static_cast<std::size_t>(request.depth), 0, static_cast<float>(request.scale), false,
        kThreads);
    std::vector<float> position, weight(density.begin(), density.end());
    std::vector<std::uint32_t> triangle;
    for (const Eigen::Vector3d& p : mesh->vertices_) {
        for (int k = 0; k < 3; ++k)
            position.push_back(static_cast<float>(p[k]));
    }
    for (const Eigen::Vector3i& face : mesh->triangles_) {
        for (int k = 0; k < 3; ++k)
            triangle.push_back(static_cast<std::uint32_t>(face[k]));
    }
    PoissonReply reply;
    reply.vertices = mesh->vertices_.size();
    reply.faces = mesh->triangles_.size();
    writeAll(to, std::vector<PoissonReply>{reply});
    writeAll(to, position);
    writeAll(to, triangle);
    writeAll(to, weight);
    if (std::fflush(to) != 0)
        throw std::runtime_error("the reply cannot be written");
}

} // namespace

int main()
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // no reconstruction outlives the run that asked for it
    std::FILE* reply = ::fdopen(::dup(STDOUT_FILENO), "wb");
    ::dup2(STDERR_FILENO, STDOUT_FILENO); // the library reports its progress there
    try {
        answer(stdin, reply);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    ::_exit(0); // what the library tears down at its end is not needed
}
