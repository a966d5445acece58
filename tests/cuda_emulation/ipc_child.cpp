#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/runtime/events.h"

// The other process of tst_emulated_ipc. Answers are lines; a number alone is an error of CUDA.
//
//   emulated_ipc_child read MEMORY EVENT    the first byte, after the event
//   emulated_ipc_child write MEMORY EVENT   fills with 0x5a and records the event
//   emulated_ipc_child query EVENT          what cudaEventQuery says
//   emulated_ipc_child export               handles of own memory, and then commands from stdin:
//                                           fill BYTE, free, begin (a record that never ends), end

namespace {

constexpr std::size_t kBytes = 1000;

template <class Handle>
std::string hexOf(const Handle& handle)
{
    std::string text;
    char digits[3];
    for (const char byte : handle.reserved) {
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

template <class Handle>
Handle handleOf(const std::string& text)
{
    Handle handle{};
    for (std::size_t i = 0; i < sizeof(handle.reserved) && 2 * i + 1 < text.size(); ++i)
        handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return handle;
}

/// Ends the process with the error as its answer.
void expect(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::cout << error << std::endl;
    std::exit(1);
}

void useMemory(const std::string& command, const std::string& memoryText,
               const std::string& eventText)
{
    void* memory = nullptr;
    cudaEvent_t event = nullptr;
    cudaStream_t stream = nullptr;
    expect(cudaIpcOpenMemHandle(&memory, handleOf<cudaIpcMemHandle_t>(memoryText),
                                cudaIpcMemLazyEnablePeerAccess));
    expect(cudaIpcOpenEventHandle(&event, handleOf<cudaIpcEventHandle_t>(eventText)));
    expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (command == "write") {
        expect(cudaMemsetAsync(memory, 0x5a, kBytes, stream));
        expect(cudaEventRecord(event, stream));
        std::cout << "written" << std::endl;
    } else {
        std::vector<unsigned char> host(kBytes);
        expect(cudaStreamWaitEvent(stream, event, 0));
        expect(cudaMemcpyAsync(host.data(), memory, kBytes, cudaMemcpyDeviceToHost, stream));
        expect(cudaStreamSynchronize(stream));
        std::cout << "byte " << int{host[0]} << " " << int{host[kBytes - 1]} << std::endl;
    }
    expect(cudaIpcCloseMemHandle(memory));
    expect(cudaEventDestroy(event));
}

void query(const std::string& eventText)
{
    cudaEvent_t event = nullptr;
    expect(cudaIpcOpenEventHandle(&event, handleOf<cudaIpcEventHandle_t>(eventText)));
    std::cout << cudaEventQuery(event) << std::endl;
}

void exportMemory()
{
    void* memory = nullptr;
    cudaEvent_t event = nullptr;
    cudaIpcMemHandle_t memoryHandle{};
    cudaIpcEventHandle_t eventHandle{};
    expect(cudaMalloc(&memory, kBytes));
    expect(cudaMemset(memory, 1, kBytes));
    expect(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    expect(cudaIpcGetMemHandle(&memoryHandle, memory));
    expect(cudaIpcGetEventHandle(&eventHandle, event));
    expect(cudaEventRecord(event, nullptr));
    std::cout << hexOf(memoryHandle) << " " << hexOf(eventHandle) << std::endl;
    for (std::string command; std::cin >> command && command != "end";) {
        if (command == "fill") {
            int value = 0;
            std::cin >> value;
            expect(cudaMemset(memory, value, kBytes));
            expect(cudaEventRecord(event, nullptr));
        } else if (command == "free") {
            expect(cudaFree(memory));
            expect(cudaEventDestroy(event));
        } else if (command == "begin") {
            vergence::emulation::events().find(event, "begin")->counter->begin();
        }
        std::cout << "done" << std::endl;
    }
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3)
        useMemory(arguments[0], arguments[1], arguments[2]);
    else if (arguments.size() == 2)
        query(arguments[1]);
    else
        exportMemory();
    return 0;
}
