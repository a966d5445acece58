# Imported target PkgConfig::libav from the four libraries of FFmpeg that read and write videos, where they are found.

pkg_check_modules(libav QUIET IMPORTED_TARGET GLOBAL libavformat libavcodec libswscale libavutil)
