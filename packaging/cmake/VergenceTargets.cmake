# The helpers that every list of this project uses. Lists of files are written out and sorted.
#
# Everything a user starts hangs on the target `studio`.
#
#   vergence_add_library(NAME SOURCES … [KERNELS …] [LIBRARIES …])   shared library
#   vergence_add_kernels(TARGET NAME name SOURCES …)                 kernel files, built per instruction set and for CUDA
#   vergence_add_plugin(id SOURCES … [KERNELS …] [PRESETS …] [LIBRARIES …]      lab module libvergence-plugin-<id>.so
#                       [OUTPUT_FOLDER dir] [PRESETS_FOLDER dir] [NO_INSTALL])
#   vergence_add_test(name [ALONE] [LABELS …] [TIMEOUT seconds]      one QtTest class tst_<name>.cpp under CTest
#                     [SOURCES …] [LIBRARIES …] [DEPENDS …])

include(${CMAKE_CURRENT_LIST_DIR}/VergencePlugin.cmake)
string(TOLOWER "${CMAKE_BUILD_TYPE}" VERGENCE_PLUGIN_BUILD)

add_custom_target(studio)

if(VERGENCE_ON_X86_64)
    set(VERGENCE_KERNEL_LEVELS v2 v3 v4)
else()
    set(VERGENCE_KERNEL_LEVELS generic)
endif()

# Kernel files are compiled for x86-64-v2, v3 and v4, on other processors once for all of them, and linked into TARGET; with
# CUDA once more, by nvcc, into the module libvergence-kernels-<name>.so, which a worker loads only where it found a CUDA
# device. Numbers of variants: core/compute/kernel.h.
function(vergence_add_kernels target)
    cmake_parse_arguments(arg "NO_INSTALL" "NAME" "SOURCES" ${ARGN})
    set(variants v2 v3 v4 cuda generic)
    foreach(level IN LISTS VERGENCE_KERNEL_LEVELS)
        list(FIND variants ${level} variant)
        set(objects ${target}_${arg_NAME}_kernels_${level})
        add_library(${objects} OBJECT ${arg_SOURCES})
        set_target_properties(${objects} PROPERTIES UNITY_BUILD OFF)
        target_link_libraries(${objects} PRIVATE vergence_options)
        target_compile_options(${objects} PRIVATE -O3 -ffp-contract=off)
        if(level STREQUAL generic)
            target_compile_options(${objects} PRIVATE -fno-math-errno)  # roots of vectors are instructions
        else()
            target_compile_options(${objects} PRIVATE -march=x86-64-${level})
        endif()
        if(level STREQUAL v4)
            target_compile_options(${objects} PRIVATE -mprefer-vector-width=512)
        endif()
        target_compile_definitions(${objects} PRIVATE
            VERGENCE_KERNEL_VARIANT=${variant} VERGENCE_KERNEL_NAMESPACE=kernels_${level})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
    if(VERGENCE_WITH_CUDA)
        # nvcc reads the headers, which files of kernels share, several times for each file.
        set(joined 1)
        if(VERGENCE_UNITY)
            set(joined 6)
        endif()
        set(cuda_sources "")
        while(arg_SOURCES)
            list(GET arg_SOURCES 0 first)
            cmake_path(GET first STEM stem)
            set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/cuda_${arg_NAME}/${stem}.cu)
            set(content "")
            foreach(number RANGE 1 ${joined})
                list(POP_FRONT arg_SOURCES source)
                if(source)
                    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
                    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
                    string(APPEND content "#include \"${source}\"\n")
                endif()
            endforeach()
            file(CONFIGURE OUTPUT ${wrapper} CONTENT "@content@" @ONLY)
            list(APPEND cuda_sources ${wrapper})
        endwhile()
        set(module vergence-kernels-${arg_NAME})
        add_library(${module} MODULE ${cuda_sources})
        target_link_libraries(${module} PRIVATE vergence_options vergence_compute CUDA::cudart)
        target_compile_definitions(${module} PRIVATE
            VERGENCE_KERNEL_VARIANT=3 VERGENCE_KERNEL_NAMESPACE=kernels_cuda)
        set_target_properties(${module} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
            UNITY_BUILD OFF)
        set_property(GLOBAL APPEND PROPERTY VERGENCE_KERNEL_MODULES ${module})
        if(NOT arg_NO_INSTALL)
            add_dependencies(studio ${module})
            install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vergence)
        endif()
    endif()
endfunction()

function(vergence_add_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;KERNELS;LIBRARIES" ${ARGN})
    add_library(${name} SHARED ${arg_SOURCES})
    add_library(Vergence::${name} ALIAS ${name})
    target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:vergence_options> ${arg_LIBRARIES})
    target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/vergence>)
    target_compile_definitions(${name} INTERFACE QT_NO_KEYWORDS)
    target_compile_features(${name} INTERFACE cxx_std_20)
    if(arg_KERNELS)
        vergence_add_kernels(${name} NAME ${name} SOURCES ${arg_KERNELS})
    endif()
    install(TARGETS ${name} EXPORT VergenceLibraries LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
endfunction()

# Files whose local names other files of the same library have too: VERGENCE_UNITY leaves them alone.
function(vergence_compile_alone target)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    set_source_files_properties(${files} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# See vergence_make_plugin. PRESETS_FOLDER is resources/presets/<id> where not given. NO_INSTALL is for plugins of the tests.
function(vergence_add_plugin id)
    cmake_parse_arguments(arg "NO_INSTALL" "OUTPUT_FOLDER;PRESETS_FOLDER" "SOURCES;KERNELS;LIBRARIES;PRESETS" ${ARGN})
    if(NOT arg_OUTPUT_FOLDER)
        set(arg_OUTPUT_FOLDER ${CMAKE_BINARY_DIR}/lib/vergence/plugins/api-1)
    endif()
    if(NOT arg_PRESETS_FOLDER)
        set(arg_PRESETS_FOLDER ${CMAKE_SOURCE_DIR}/resources/presets/${id})
    endif()
    set(target vergence-plugin-${id})
    vergence_make_plugin(${target} ${id} SOURCES ${arg_SOURCES} PRESETS ${arg_PRESETS}
        PRESETS_FOLDER ${arg_PRESETS_FOLDER} LIBRARIES vergence_options ${arg_LIBRARIES})
    set_target_properties(${target} PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_FOLDER} INSTALL_RPATH "$ORIGIN/../../..")
    set(install_option "")
    if(arg_NO_INSTALL)
        set(install_option NO_INSTALL)
    endif()
    if(arg_KERNELS)
        vergence_add_kernels(${target} NAME ${id} SOURCES ${arg_KERNELS} ${install_option})
    endif()
    if(NOT arg_NO_INSTALL)
        add_dependencies(studio ${target})
        install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/vergence/plugins/api-1)
    endif()
endfunction()

# Tests run on the offscreen platform; the label `gl` asks for a virtual display, and each of those gets one of its own. The
# label `cuda` is for tests that do the same on the CPU and on a GPU.
# The tests of a folder that need the same of Qt are one program, tests_<folder>, _gui or _window, so that they are linked
# once (tests/support/test_program.h); their headers give no name to two things. ALONE makes a test a program of its own,
# tst_<name>, with QtTest's main function: where it replaces functions of the C library or has kernels of its own.
function(vergence_add_test name)
    cmake_parse_arguments(arg "ALONE" "TIMEOUT" "LABELS;SOURCES;LIBRARIES;DEPENDS" ${ARGN})
    set(kind "")
    set(headers vergence_test_headers)
    if("${arg_LIBRARIES}" MATCHES "vergence_(charts|export|forms|gui_harness|shell|style|viewport)")
        set(kind _window)
        set(headers vergence_window_test_headers)
    elseif("Qt6::Gui" IN_LIST arg_LIBRARIES)
        set(kind _gui)
        set(headers "")
    endif()
    if(arg_ALONE)
        set(target tst_${name})
        set(arguments "")
    else()
        cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
        string(REPLACE "/" "_" target tests_${folder}${kind})
        set(arguments ${name})
    endif()
    if(NOT TARGET ${target})
        add_executable(${target})
        set_target_properties(${target} PROPERTIES AUTOMOC ON UNITY_BUILD ${VERGENCE_UNITY} UNITY_BUILD_MODE GROUP
            TESTS 0 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests)
        target_link_libraries(${target} PRIVATE vergence_core Qt6::Core Qt6::Test)
        if(NOT arg_ALONE)
            target_link_libraries(${target} PRIVATE vergence_test_program)
        endif()
        # What is tested is optimised; the tests themselves need not be, and compile in two thirds of the time.
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
        if(VERGENCE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU) # takes the files that are joined for headers
            target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
        endif()
        target_compile_definitions(${target} PRIVATE
            VERGENCE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" VERGENCE_BINARY_DIR="${CMAKE_BINARY_DIR}")
        if(headers) # Qt's header of tests is read once for those with a window and once for the rest
            target_precompile_headers(${target} REUSE_FROM ${headers})
            target_compile_options(${target} PRIVATE -UQT_TESTCASE_BUILDDIR -UQT_TESTCASE_SOURCEDIR)
        endif()
    endif()
    target_sources(${target} PRIVATE tst_${name}.cpp ${arg_SOURCES})
    # VERGENCE_UNITY compiles eight at once, which have the same neighbours with every version of CMake.
    get_target_property(tests ${target} TESTS)
    math(EXPR group "${tests} / 8")
    math(EXPR tests "${tests} + 1")
    set_target_properties(${target} PROPERTIES TESTS ${tests})
    set_source_files_properties(tst_${name}.cpp PROPERTIES UNITY_GROUP tests_${group})
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
    if(arg_DEPENDS)
        add_dependencies(${target} ${arg_DEPENDS})
    endif()
    set(display "")
    if("gl" IN_LIST arg_LABELS)
        set(display ${CMAKE_SOURCE_DIR}/tests/support/own_display.sh)
    endif()
    add_test(NAME ${name} COMMAND ${display} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${target}> ${arguments})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600)
    endif()
    # CTest ends what hangs; that says nothing of speed, for other programs may hold the cores. Qt's own limit, five
    # minutes for one row, knows nothing of it.
    set(environment QTEST_FUNCTION_TIMEOUT=${arg_TIMEOUT}000)
    if(NOT "gl" IN_LIST arg_LABELS)
        list(APPEND environment QT_QPA_PLATFORM=offscreen)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${environment}")
    set_property(GLOBAL PROPERTY VERGENCE_TEST_${name} ${target} ${arguments})
    if("cuda" IN_LIST arg_LABELS)
        set_property(GLOBAL APPEND PROPERTY VERGENCE_CUDA_TESTS ${name})
    endif()
endfunction()
