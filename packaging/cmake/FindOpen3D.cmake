# Imported target Open3D::Open3D from header and library alone, where they are found; the CMake file of Debian 12 also asks
# for packages that only Open3D's own build needs.

find_path(OPEN3D_INCLUDE_DIR open3d/geometry/TriangleMesh.h)
find_library(OPEN3D_LIBRARY Open3D)
mark_as_advanced(OPEN3D_INCLUDE_DIR OPEN3D_LIBRARY)
if(OPEN3D_INCLUDE_DIR AND OPEN3D_LIBRARY)
    add_library(Open3D::Open3D SHARED IMPORTED)
    set_target_properties(Open3D::Open3D PROPERTIES
        IMPORTED_LOCATION ${OPEN3D_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${OPEN3D_INCLUDE_DIR})
    target_link_libraries(Open3D::Open3D INTERFACE Eigen3::Eigen fmt::fmt)
endif()
