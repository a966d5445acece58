# Builds on x86-64 for 64-bit ARM, with Debian's g++-aarch64-linux-gnu. VERGENCE_SYSROOT is a folder of unpacked arm64
# packages; without it, they are those of the system (dpkg --add-architecture arm64). Programs that run while building (moc,
# rcc) are the system's own. Tests run under qemu-aarch64-static where that is installed.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(VERGENCE_SYSROOT "" CACHE PATH "Folder of unpacked arm64 packages; empty: those of the system")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VERGENCE_SYSROOT)
set(_loader_root /usr/aarch64-linux-gnu)
if(VERGENCE_SYSROOT)
    set(CMAKE_SYSROOT ${VERGENCE_SYSROOT})
    set(_loader_root ${VERGENCE_SYSROOT})
    set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
    set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
    set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} ${VERGENCE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${VERGENCE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${VERGENCE_SYSROOT})

set(QT_HOST_PATH /usr CACHE PATH "Qt of the computer that builds")
set(QT_HOST_PATH_CMAKE_DIR /usr/lib/x86_64-linux-gnu/cmake CACHE PATH "Its CMake packages")

find_program(VERGENCE_QEMU qemu-aarch64-static)
if(VERGENCE_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${VERGENCE_QEMU} -L ${_loader_root})
endif()
