#include "cuda/backend/cuda_stream.h"

#include "cuda/backend/check.h"

namespace vergence {

namespace {

class CudaLaunchGraph final : public LaunchGraph {
public:
    explicit CudaLaunchGraph(cudaGraphExec_t executable) : m_executable(executable) {}
    ~CudaLaunchGraph() override { cudaGraphExecDestroy(m_executable); }
    CudaLaunchGraph(const CudaLaunchGraph&) = delete;
    CudaLaunchGraph& operator=(const CudaLaunchGraph&) = delete;

    void replay(Stream& stream) override
    {
        checkCuda(cudaGraphLaunch(m_executable, static_cast<cudaStream_t>(stream.native())),
                  "Replaying a launch graph");
    }

private:
    cudaGraphExec_t m_executable;
};

} // namespace

CudaStream::CudaStream(Device& device) : Stream(device)
{
    checkCuda(cudaSetDevice(device.info().index), "Choosing a CUDA device");
    checkCuda(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking),
              "Creating a CUDA stream");
}

CudaStream::~CudaStream()
{
    cudaStreamSynchronize(m_stream);
    if (m_scratch)
        device().deallocate(m_scratch, m_scratchBytes);
    cudaStreamDestroy(m_stream);
}

void CudaStream::copy(void* target, const void* source, std::size_t bytes)
{
    if (bytes == 0)
        return;
    checkCuda(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, m_stream),
              "Copying memory");
}

void CudaStream::fillBytes(void* target, int value, std::size_t bytes)
{
    if (bytes == 0)
        return;
    checkCuda(cudaMemsetAsync(target, value, bytes, m_stream), "Filling memory");
}

void CudaStream::synchronize()
{
    checkCuda(cudaStreamSynchronize(m_stream), "Waiting for the GPU");
}

void CudaStream::parallelFor(Index, Index, RangeBody, const void*)
{
    throw ContractError("parallelFor: a CPU body cannot run on a CUDA stream");
}

void* CudaStream::scratch(std::size_t bytes)
{
    if (bytes > m_scratchBytes) {
        expects(
            !m_capturing,
            "scratch: must not grow while a launch graph is recorded; run the step once before");
        synchronize();
        if (m_scratch)
            device().deallocate(m_scratch, m_scratchBytes);
        m_scratch = nullptr;
        m_scratchBytes = 0;
        m_scratch = device().allocate(bytes);
        m_scratchBytes = bytes;
    }
    return m_scratch;
}

bool CudaStream::beginCapture()
{
    expects(!m_capturing, "beginCapture: a launch graph is being recorded already");
    checkCuda(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal),
              "Starting to record a launch graph");
    m_capturing = true;
    return true;
}

std::unique_ptr<LaunchGraph> CudaStream::endCapture()
{
    expects(m_capturing, "endCapture: nothing is being recorded");
    m_capturing = false;
    cudaGraph_t graph = nullptr;
    checkCuda(cudaStreamEndCapture(m_stream, &graph), "Recording a launch graph");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    checkCuda(error, "Instantiating a launch graph");
    return std::make_unique<CudaLaunchGraph>(executable);
}

} // namespace vergence
