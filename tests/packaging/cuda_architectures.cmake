# Architectures for toolkits and cards that are not here.
include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/cmake/CudaArchitectures.cmake)

function(expect_architectures version cards wanted)
    vergence_choose_cuda_architectures(chosen ${version} "${cards}")
    if(NOT "${chosen}" STREQUAL "${wanted}")
        message(SEND_ERROR "CUDA ${version}, cards \"${cards}\": \"${chosen}\" instead of \"${wanted}\"")
    endif()
endfunction()

set(before_blackwell "75;80;86;89;90")
set(all "75;80;86;89;90;100;120")
# No card, or all that are supported.
expect_architectures(12.4.131 "" "${before_blackwell}")
expect_architectures(12.6 "" "${before_blackwell}")
expect_architectures(12.8.0 "" "${all}")
expect_architectures(12.10 "" "${all}")
expect_architectures(13.0.88 "" "${all}")
# Cards of this computer.
expect_architectures(12.4 "8.9" "89")
expect_architectures(13.0 "7.5" "75")
expect_architectures(13.0 "12.0;8.6;12.0" "86;120")
# A card that the toolkit knows nothing of: its driver compiles the code of the latest.
expect_architectures(12.4 "12.0" "${before_blackwell}")
expect_architectures(12.4 "9.0;12.0" "${before_blackwell}")
expect_architectures(13.0 "12.1" "${all}")
# None of ours: nothing better than all.
expect_architectures(13.0 "6.1" "${all}")
