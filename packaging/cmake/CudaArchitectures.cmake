# Which GPUs the CUDA modules are built for. Included by VergenceOptions.cmake; tests/packaging asks it for versions that
# are not installed.

# Architectures that the toolkit of a version compiles for and the product supports: 7.5 (T4, RTX 20) and later.
function(vergence_supported_cuda_architectures out version)
    set(architectures 75 80 86 89 90)
    if(version VERSION_GREATER_EQUAL 12.8)
        list(APPEND architectures 100 120)
    endif()
    set(${out} "${architectures}" PARENT_SCOPE)
endfunction()

# Those of the cards, capabilities as in "8.6;9.0", where the toolkit knows each; else all that are supported: the code of
# the latest is compiled anew by the driver of a later card.
function(vergence_choose_cuda_architectures out version cards)
    vergence_supported_cuda_architectures(supported ${version})
    list(TRANSFORM cards REPLACE "\\." "")
    list(REMOVE_DUPLICATES cards)
    list(SORT cards COMPARE NATURAL)
    set(unknown ${cards})
    list(REMOVE_ITEM unknown ${supported})
    if(cards AND NOT unknown)
        set(${out} "${cards}" PARENT_SCOPE)
    else()
        set(${out} "${supported}" PARENT_SCOPE)
    endif()
endfunction()

# Capabilities of this computer's cards; empty without any.
function(vergence_cuda_cards out)
    set(cards "")
    find_program(VERGENCE_NVIDIA_SMI nvidia-smi)
    mark_as_advanced(VERGENCE_NVIDIA_SMI)
    if(VERGENCE_NVIDIA_SMI)
        execute_process(COMMAND ${VERGENCE_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
            OUTPUT_VARIABLE text ERROR_QUIET)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" cards "${text}")
    endif()
    set(${out} "${cards}" PARENT_SCOPE)
endfunction()
