# Imported target DNNL::dnnl from header and library alone.

find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(ONEDNN_LIBRARY dnnl)
mark_as_advanced(ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY)
if(NOT ONEDNN_INCLUDE_DIR OR NOT ONEDNN_LIBRARY)
    message(FATAL_ERROR "oneDNN was not found; install libdnnl-dev.")
endif()
add_library(DNNL::dnnl SHARED IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${ONEDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE_DIR})
