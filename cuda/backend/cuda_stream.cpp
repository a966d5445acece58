#include "cuda/backend/cuda_stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "cuda/backend/check.h"
#include "cuda/backend/copy_source.h"
#include "cuda/backend/cuda_device.h"

namespace vergence {

namespace {

std::uint64_t nextSerial()
{
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

constexpr std::size_t kLeastScratch = 256; ///< never null: CUB takes null for a question of size

CopySource kindOf(const void* pointer)
{
    cudaPointerAttributes attributes{};
    checkCuda(cudaPointerGetAttributes(&attributes, pointer), "Asking where memory lies");
    if (attributes.type == cudaMemoryTypeHost)
        return CopySource::PinnedHost;
    return attributes.type == cudaMemoryTypeUnregistered ? CopySource::PageableHost
                                                         : CopySource::Device;
}

/// What a graph holds as long as it lives.
struct GraphParts {
    cudaStream_t recordedOn = nullptr;
    std::unique_ptr<MemoryPool::Reserved> memory;
    std::vector<std::unique_ptr<std::byte[]>> hostCopies;
    std::vector<std::shared_ptr<const void>> others;
};

class CudaLaunchGraph final : public LaunchGraph {
public:
    CudaLaunchGraph(cudaGraph_t graph, GraphParts parts) : m_parts(std::move(parts))
    {
        checkCuda(cudaEventCreateWithFlags(&m_done, cudaEventDisableTiming), "Creating an event");
        const cudaError_t error = cudaGraphInstantiate(&m_executable, graph, 0);
        if (error != cudaSuccess)
            cudaEventDestroy(m_done);
        checkCuda(error, "Instantiating a launch graph");
    }
    ~CudaLaunchGraph() override
    {
        cudaEventSynchronize(m_done); // what it works in goes to others now
        cudaGraphExecDestroy(m_executable);
        cudaEventDestroy(m_done);
    }
    CudaLaunchGraph(const CudaLaunchGraph&) = delete;
    CudaLaunchGraph& operator=(const CudaLaunchGraph&) = delete;

    void replay(Stream& stream) override
    {
        expects(stream.native() == m_parts.recordedOn,
                "LaunchGraph: replay on the stream that recorded it; they share scratch memory");
        checkCuda(cudaGraphLaunch(m_executable, m_parts.recordedOn), "Replaying a launch graph");
        checkCuda(cudaEventRecord(m_done, m_parts.recordedOn), "Marking a replay");
    }

private:
    GraphParts m_parts;
    cudaGraphExec_t m_executable = nullptr;
    cudaEvent_t m_done = nullptr;
};

} // namespace

CudaStream::CudaStream(CudaDevice& owner) : Stream(owner), m_device(owner), m_serial(nextSerial())
{
    makeCurrent();
    checkCuda(cudaEventCreateWithFlags(&m_mark, cudaEventDisableTiming), "Creating an event");
    const cudaError_t error = cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        cudaEventDestroy(m_mark);
    checkCuda(error, "Creating a CUDA stream");
}

CudaStream::~CudaStream()
{
    if (m_isCapturing) { // an error cut the recording short
        cudaGraph_t graph = nullptr;
        cudaStreamEndCapture(m_stream, &graph);
        if (graph)
            cudaGraphDestroy(graph);
        m_device.pool().endRecording(m_recorder);
    }
    cudaStreamSynchronize(m_stream);
    m_device.order().forget(*this);
    m_device.forgetStream(m_stream);
    m_retired.push_back(m_scratch);
    for (const Scratch& scratch : m_retired) {
        if (scratch.memory)
            m_device.deallocate(scratch.memory, scratch.bytes);
    }
    cudaStreamDestroy(m_stream);
    cudaEventDestroy(m_mark);
    cudaGetLastError();
}

void CudaStream::makeCurrent() const
{
    checkCuda(cudaSetDevice(m_device.info().index), "Choosing a CUDA device");
}

/// For what gives it work. A recording is none: it waits when it is replayed.
void CudaStream::takeWork() const
{
    makeCurrent();
    if (!m_isCapturing)
        m_device.order().enter(*this);
}

void CudaStream::waitFor(const CudaStream& other) const
{
    if (!other.m_isCapturing)
        checkCuda(cudaEventRecord(other.m_mark, other.m_stream), "Marking a stream's work");
    checkCuda(cudaStreamWaitEvent(m_stream, other.m_mark, 0), "Waiting for another stream");
}

void* CudaStream::native() const
{
    takeWork();
    return m_stream;
}

void CudaStream::copy(void* target, const void* source, std::size_t bytes)
{
    if (bytes == 0)
        return;
    takeWork();
    const CopySource from = kindOf(source);
    if (m_isCapturing) {
        expects(kindOf(target) == CopySource::Device,
                "copy: must not bring values to the host while a launch graph is recorded");
        if (from != CopySource::Device)
            source = keepForGraph(source, bytes);
    }
    checkCuda(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, m_stream),
              "Copying memory");
    if (!m_isCapturing && isReadLater(from, m_device.readsHostMemory()))
        synchronize();
}

/// A replay reads host memory again, long after the caller's is gone.
const void* CudaStream::keepForGraph(const void* source, std::size_t bytes)
{
    HostCopy copy = std::make_unique<std::byte[]>(bytes);
    std::memcpy(copy.get(), source, bytes);
    m_hostCopies.push_back(std::move(copy));
    return m_hostCopies.back().get();
}

void CudaStream::keepForGraph(std::shared_ptr<const void> part)
{
    if (m_isCapturing)
        m_graphParts.push_back(std::move(part));
}

void CudaStream::fillBytes(void* target, int value, std::size_t bytes)
{
    if (bytes == 0)
        return;
    takeWork();
    checkCuda(cudaMemsetAsync(target, value, bytes, m_stream), "Filling memory");
}

void CudaStream::synchronize()
{
    expects(!m_isCapturing, "synchronize: nothing runs while a launch graph is recorded");
    makeCurrent();
    checkCuda(cudaStreamSynchronize(m_stream), "Waiting for the GPU");
}

void CudaStream::parallelFor(Index, Index, RangeBody, const void*)
{
    throw ContractError("parallelFor: a CPU body cannot run on a CUDA stream");
}

void* CudaStream::scratch(std::size_t bytes)
{
    const std::size_t wanted = std::max(bytes, kLeastScratch);
    if (wanted <= m_scratch.bytes)
        return m_scratch.memory;
    expects(!m_isCapturing,
            "scratch: must not grow while a launch graph is recorded; run the step once before");
    synchronize();
    const Scratch old = std::exchange(m_scratch, {});
    if (old.memory && m_hasRecorded)
        m_retired.push_back(old);
    else if (old.memory)
        m_device.deallocate(old.memory, old.bytes);
    m_scratch = {m_device.allocate(wanted), wanted};
    return m_scratch.memory;
}

bool CudaStream::beginCapture()
{
    expects(!m_isCapturing, "beginCapture: a launch graph is being recorded already");
    makeCurrent();
    m_recorder = m_device.pool().beginRecording();
    const std::lock_guard guard(m_device.order().lock());
    cudaError_t error = cudaEventRecord(m_mark, m_stream);
    if (error == cudaSuccess)
        error = cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess)
        m_device.pool().endRecording(m_recorder);
    checkCuda(error, "Starting to record a launch graph");
    m_isCapturing = true;
    m_hasRecorded = true;
    return true;
}

std::unique_ptr<LaunchGraph> CudaStream::endCapture()
{
    expects(m_isCapturing, "endCapture: nothing is being recorded");
    makeCurrent();
    cudaGraph_t graph = nullptr;
    cudaError_t error = cudaSuccess;
    {
        const std::lock_guard guard(m_device.order().lock());
        error = cudaStreamEndCapture(m_stream, &graph);
        m_isCapturing = false;
    }
    GraphParts parts{m_stream, m_device.pool().endRecording(m_recorder),
                     std::exchange(m_hostCopies, {}), std::exchange(m_graphParts, {})};
    checkCuda(error, "Recording a launch graph");
    struct Destroy {
        cudaGraph_t graph;
        ~Destroy() { cudaGraphDestroy(graph); }
    } destroyAtEnd{graph};
    return std::make_unique<CudaLaunchGraph>(graph, std::move(parts));
}

} // namespace vergence
