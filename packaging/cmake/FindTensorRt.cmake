# TENSORRT_FOUND with TENSORRT_INCLUDE_DIR, TENSORRT_PARSER_INCLUDE_DIR, TENSORRT_LIBRARY and TENSORRT_PARSER_LIBRARY where
# VERGENCE_WITH_TENSORRT wants them. They are looked for in TENSORRT_ROOT (a variable, here or in the environment), beside
# CUDA, and where the system has its libraries; nothing is downloaded.

set(TENSORRT_FOUND FALSE)
set(_tensorrt_missing "")
if(VERGENCE_WITH_TENSORRT STREQUAL "OFF")
    return()
endif()
if(NOT VERGENCE_WITH_CUDA)
    set(_tensorrt_missing "TensorRT needs CUDA; set VERGENCE_WITH_CUDA to ON, or VERGENCE_WITH_TENSORRT to OFF.")
else()
    set(_tensorrt_hints ${TENSORRT_ROOT} $ENV{TENSORRT_ROOT})
    find_path(TENSORRT_INCLUDE_DIR NvInfer.h
        HINTS ${_tensorrt_hints} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
    find_path(TENSORRT_PARSER_INCLUDE_DIR NvOnnxParser.h
        HINTS ${_tensorrt_hints} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
    find_library(TENSORRT_LIBRARY nvinfer
        HINTS ${_tensorrt_hints} ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
    find_library(TENSORRT_PARSER_LIBRARY nvonnxparser
        HINTS ${_tensorrt_hints} ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
    mark_as_advanced(TENSORRT_INCLUDE_DIR TENSORRT_PARSER_INCLUDE_DIR TENSORRT_LIBRARY TENSORRT_PARSER_LIBRARY)
    foreach(part "NvInfer.h:INCLUDE_DIR" "NvOnnxParser.h:PARSER_INCLUDE_DIR" "libnvinfer:LIBRARY" "libnvonnxparser:PARSER_LIBRARY")
        string(REPLACE ":" ";" part ${part})
        list(GET part 0 file)
        list(GET part 1 variable)
        if(NOT TENSORRT_${variable})
            list(APPEND _tensorrt_missing ${file})
        endif()
    endforeach()
    if(_tensorrt_missing)
        list(JOIN _tensorrt_missing ", " _tensorrt_missing)
        set(_tensorrt_missing "TensorRT was not found (missing: ${_tensorrt_missing}); install libnvinfer-dev and \
libnvonnxparsers-dev, name its folder in TENSORRT_ROOT, or set VERGENCE_WITH_TENSORRT to OFF.")
    else()
        # Older versions give a number, newer ones the name of another definition that has it.
        file(STRINGS ${TENSORRT_INCLUDE_DIR}/NvInferVersion.h _tensorrt_major
            REGEX "define +(NV_TENSORRT_MAJOR|TRT_MAJOR_ENTERPRISE) +[0-9]+")
        string(REGEX MATCH "[0-9]+" _tensorrt_major "${_tensorrt_major}")
        if(NOT _tensorrt_major OR _tensorrt_major LESS 10)
            set(_tensorrt_missing "TensorRT ${_tensorrt_major} in ${TENSORRT_INCLUDE_DIR} is too old; install version 10 or \
newer, or set VERGENCE_WITH_TENSORRT to OFF.")
        endif()
    endif()
endif()
if(NOT _tensorrt_missing)
    set(TENSORRT_FOUND TRUE)
elseif(VERGENCE_WITH_TENSORRT STREQUAL "ON")
    message(FATAL_ERROR "${_tensorrt_missing}")
endif()
