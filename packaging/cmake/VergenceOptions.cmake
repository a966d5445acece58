# Options, warnings and output folders that every target shares. Included once by the top-level list.

include(CheckLanguage)
include(GNUInstallDirs)

check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
    set(_cuda_found ON)
else()
    set(_cuda_found OFF)
endif()
option(VERGENCE_WITH_CUDA "Build the CUDA modules" ${_cuda_found})
option(VERGENCE_BUILD_STUDIO "Build the window (needs Qt Widgets, Charts and OpenGL)" ON)
option(VERGENCE_BUILD_TESTS "Build tests and benchmarks" ON)
option(VERGENCE_BUILD_FUZZERS "Build the libFuzzer targets (needs Clang 16)" OFF)
option(VERGENCE_UNITY "Compile eight files of a library at once: a build from nothing takes half as long" OFF)
option(VERGENCE_WERROR "Treat warnings as errors" OFF)
set(VERGENCE_WITH_OPEN3D AUTO CACHE STRING "Build the Poisson reconstruction: ON, OFF, or AUTO where Open3D is found")
set(VERGENCE_WITH_LIBAV AUTO CACHE STRING "Build the reading and writing of videos: ON, OFF, or AUTO where libav is found")
set(VERGENCE_WITH_TENSORRT AUTO CACHE STRING "Build the live lab's TensorRT module: ON, OFF, or AUTO where its SDK is found beside CUDA")
set(VERGENCE_SANITIZE "" CACHE STRING "Sanitizers, for instance address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
if(VERGENCE_WITH_CUDA)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "CUDA architectures" FORCE)
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 speaks C++20
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit 12.4 REQUIRED)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../..")

# Warnings, definitions and sanitizers live on one interface target that the helper functions link.
add_library(vergence_options INTERFACE)
target_include_directories(vergence_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(vergence_options INTERFACE QT_NO_KEYWORDS QT_NO_CAST_TO_ASCII)
target_compile_options(vergence_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
        $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns wrongly about std::string's operator+
        $<$<BOOL:${VERGENCE_WERROR}>:-Werror>>)
if(VERGENCE_BUILD_FUZZERS AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "VERGENCE_BUILD_FUZZERS needs Clang: configure with --preset fuzz.")
endif()
if(VERGENCE_SANITIZE)
    target_compile_options(vergence_options INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${VERGENCE_SANITIZE} -fno-omit-frame-pointer>)
    target_link_options(vergence_options INTERFACE -fsanitize=${VERGENCE_SANITIZE})
endif()
