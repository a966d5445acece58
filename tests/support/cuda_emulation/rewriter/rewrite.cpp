#include "tests/support/cuda_emulation/rewriter/rewrite.h"

namespace vergence::emulation {

namespace {

std::string quoted(const std::string& path)
{
    std::string out = "\"";
    for (const char c : path) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "\"";
}

} // namespace

std::string rewriteKernels(Source source)
{
    source.text = rewriteLaunches(source);
    source.text = rewriteSharedVariables(source);
    source.text = rewriteInstructions(source);
    return "#line 1 " + quoted(source.path) + "\n" + source.text;
}

} // namespace vergence::emulation
