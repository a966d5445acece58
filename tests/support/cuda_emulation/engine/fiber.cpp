#include "tests/support/cuda_emulation/engine/fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace vergence::emulation {

namespace {

constexpr std::size_t kGuardBytes = 4096, kLineBytes = 64, kColours = 61;

unsigned char* newStack()
{
    void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
        std::perror("A stack for a thread of a kernel");
        std::abort();
    }
    return static_cast<unsigned char*>(memory) + kGuardBytes;
}

} // namespace

Fiber& makeFiber(void (*main)())
{
    static std::size_t count = 0;
    auto* fiber = new Fiber;
    fiber->stack = newStack();
    // Each begins in another line of the cache: a block's threads are at the same place of their
    // stacks most of the time.
    fiber->top = fiber->stack + kStackBytes - kLineBytes * (1 + count++ % kColours);
    restart(*fiber, main);
    return *fiber;
}

#if defined(__x86_64__)

// Saves what a called function must keep, and takes up another stack.
extern "C" void vergenceSwitchStack(void** saved, void* next) __attribute__((visibility("hidden")));
asm(R"(
.text
.globl vergenceSwitchStack
.hidden vergenceSwitchStack
.type vergenceSwitchStack, @function
vergenceSwitchStack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size vergenceSwitchStack, .-vergenceSwitchStack
)");

void restart(Fiber& fiber, void (*main)())
{
    auto* top = reinterpret_cast<std::uintptr_t*>(fiber.top);
    *--top = 0; // main's own return address, so that backtraces end
    *--top = reinterpret_cast<std::uintptr_t>(main);
    for (int saved = 0; saved < 6; ++saved)
        *--top = 0;
    fiber.position = top;
}

void switchFiber(Fiber& from, Fiber& to)
{
    vergenceSwitchStack(&from.position, to.position);
}

#else

namespace {

ucontext_t* contextOf(Fiber& fiber)
{
    if (!fiber.position)
        fiber.position = new ucontext_t;
    return static_cast<ucontext_t*>(fiber.position);
}

} // namespace

void restart(Fiber& fiber, void (*main)())
{
    ucontext_t* context = contextOf(fiber);
    getcontext(context);
    context->uc_stack.ss_sp = fiber.stack;
    context->uc_stack.ss_size = static_cast<std::size_t>(fiber.top - fiber.stack);
    context->uc_link = nullptr;
    makecontext(context, main, 0);
}

void switchFiber(Fiber& from, Fiber& to)
{
    swapcontext(contextOf(from), contextOf(to));
}

#endif

} // namespace vergence::emulation
