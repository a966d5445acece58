# What a lab's module needs, in this build and in a build against an installed studio:
#
#   vergence_make_plugin(target id SOURCES … [PRESETS …] [PRESETS_FOLDER dir] [LIBRARIES …])
#
# The descriptor <id>.json lies beside the source that names it in Q_PLUGIN_METADATA; what only the build knows (Qt version,
# compiler, build type) is added by moc. Presets named by PRESETS are embedded as Qt resources under :/presets/<id>.

# The compiler's tag in the metadata of plugins: only plugins of the same compiler generation are loaded.
string(REGEX MATCH "^[0-9]+" _compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(VERGENCE_PLUGIN_ABI "gcc${_compiler_major}-libstdc++-cxx11")
else()
    string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" _compiler)
    set(VERGENCE_PLUGIN_ABI "${_compiler}${_compiler_major}-libstdc++-cxx11")
endif()

function(vergence_make_plugin target id)
    cmake_parse_arguments(arg "" "PRESETS_FOLDER" "SOURCES;PRESETS;LIBRARIES" ${ARGN})
    string(TOLOWER "${CMAKE_BUILD_TYPE}" build)
    add_library(${target} MODULE ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE Vergence::vergence_core Qt6::Core ${arg_LIBRARIES})
    set(facts "-Mqt=${Qt6Core_VERSION_MAJOR}.${Qt6Core_VERSION_MINOR};-Mabi=${VERGENCE_PLUGIN_ABI};-Mbuild=${build}")
    set_target_properties(${target} PROPERTIES
        AUTOMOC ON AUTOMOC_MOC_OPTIONS "${facts}"
        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_definitions(${target} PRIVATE QT_PLUGIN)
    if(arg_PRESETS)
        list(TRANSFORM arg_PRESETS PREPEND ${arg_PRESETS_FOLDER}/)
        qt_add_resources(${target} ${id}_presets PREFIX /presets/${id}
            BASE ${arg_PRESETS_FOLDER} FILES ${arg_PRESETS})
    endif()
endfunction()
