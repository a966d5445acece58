#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/support/cuda_emulation/rewriter/rewrite.h"

namespace {

using namespace vergence::emulation;

Source read(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error(path.string() + ": cannot be read");
    return {std::filesystem::absolute(path).lexically_normal().string(),
            {std::istreambuf_iterator<char>(file), {}}};
}

void write(const std::filesystem::path& path, const std::string& text)
{
    if (path.has_parent_path())
        std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush())
        throw std::runtime_error(path.string() + ": cannot be written");
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 3) {
        std::cerr << "usage: rewrite_kernels SOURCE TARGET\n";
        return 2;
    }
    try {
        write(arguments[2], rewriteKernels(read(arguments[1])));
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
