# What VERGENCE_WITH_TENSORRT does with and without an SDK: cmake -DSOURCE=<checkout> -DFOLDER=<scratch> -P this file.
# The SDKs here are empty files with the names that are looked for.

if(LOOKS)  # one configure: prints what was found
    set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
    set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
    set(CMAKE_FIND_LIBRARY_PREFIXES lib)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
    include(${SOURCE}/packaging/cmake/FindTensorRt.cmake)
    message("found=${TENSORRT_FOUND}")
    return()
endif()

function(make_sdk name version)
    file(REMOVE_RECURSE ${FOLDER}/${name})
    foreach(file include/NvInfer.h include/NvOnnxParser.h lib/libnvinfer.so lib/libnvonnxparser.so)
        file(WRITE ${FOLDER}/${name}/${file} "")
    endforeach()
    file(WRITE ${FOLDER}/${name}/include/NvInferVersion.h "${version}")
endfunction()

function(expect wanted with_tensorrt with_cuda sdk)
    execute_process(COMMAND ${CMAKE_COMMAND} -DLOOKS=ON -DSOURCE=${SOURCE} -DVERGENCE_WITH_TENSORRT=${with_tensorrt}
        -DVERGENCE_WITH_CUDA=${with_cuda} -DTENSORRT_ROOT=${FOLDER}/${sdk} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        OUTPUT_VARIABLE said ERROR_VARIABLE said)
    string(REGEX REPLACE "[ \n]+" " " said "${said}")
    if(NOT said MATCHES "${wanted}")
        message(FATAL_ERROR "${with_tensorrt}, CUDA ${with_cuda}, ${sdk}: wanted '${wanted}', got '${said}'")
    endif()
endfunction()

make_sdk(ten "#define NV_TENSORRT_MAJOR 10 //!< major\n#define NV_TENSORRT_MINOR 3\n")
make_sdk(eleven "#define TRT_MAJOR_ENTERPRISE 11\n#define NV_TENSORRT_MAJOR TRT_MAJOR_ENTERPRISE\n")
make_sdk(eight "#define NV_TENSORRT_MAJOR 8\n")
make_sdk(half "#define NV_TENSORRT_MAJOR 10\n")
file(REMOVE ${FOLDER}/half/include/NvOnnxParser.h ${FOLDER}/half/lib/libnvonnxparser.so)

expect("^found=TRUE $" AUTO ON ten)
expect("^found=TRUE $" ON ON eleven)
expect("^found=FALSE $" OFF ON ten)
expect("^found=FALSE $" AUTO OFF ten)
expect("^found=FALSE $" AUTO ON none)
expect("^found=FALSE $" AUTO ON half)
expect("^found=FALSE $" AUTO ON eight)
expect("missing: NvInfer.h, NvOnnxParser.h, libnvinfer, libnvonnxparser.;" ON ON none)
expect("missing: NvOnnxParser.h, libnvonnxparser.;.*TENSORRT_ROOT" ON ON half)
expect("TensorRT 8 .* is too old" ON ON eight)
expect("needs CUDA" ON OFF ten)
