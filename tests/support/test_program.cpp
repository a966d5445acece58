#include "tests/support/test_program.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace vergence::test {

namespace {

std::map<std::string, TestMain>& tests()
{
    static std::map<std::string, TestMain> all;
    return all;
}

} // namespace

Registration::Registration(const char* file, TestMain main)
{
    const std::string path = file; // …/tst_NAME.cpp
    const std::size_t name = path.rfind("tst_") + std::strlen("tst_");
    tests().emplace(path.substr(name, path.rfind('.') - name), main);
}

} // namespace vergence::test

int main(int argc, char** argv)
{
    const auto& tests = vergence::test::tests();
    const auto found = argc < 2 ? tests.end() : tests.find(argv[1]);
    if (found != tests.end()) {
        argv[1] = argv[0];
        return found->second(argc - 1, argv + 1);
    }
    std::fprintf(stderr, "Usage: %s TEST [OPTIONS OF QTTEST]\n", argv[0]);
    for (const auto& [name, main] : tests)
        std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
}
