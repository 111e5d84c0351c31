# SPDX-License-Identifier: MIT
# Defines the target spmv::spmv with the directory of the headers, the configuration macros, and the libraries that they need. This
# file is found by find_package(spmv), and included by CMakeLists.txt for add_subdirectory. Variables that may be set before either:
#   SPMV_OPENCL        ON (default): OpenCL devices as well, and its library is linked. OFF: SPMV_NO_OPENCL
#   SPMV_CUDA          ON (default): GPUs by CUDA as well, whose driver is loaded at run time. OFF: SPMV_NO_CUDA
#   SPMV_STATIC, SPMV_NO_STDIO, SPMV_NO_F64, SPMV_NO_TUNING, SPMV_REPRODUCIBLE
#                      OFF (default) or ON: the macro of that name, see README.md
#   SPMV_ONLY          the formats to keep, such as SPMV_BIT_CSR+SPMV_BIT_SELL; empty (default): all
# To leave out formats by SPMV_NO_<FORMAT>, a project adds compile definitions of its own.
if(TARGET spmv::spmv)
    return()
endif()
if(NOT DEFINED SPMV_OPENCL)
    set(SPMV_OPENCL ON)
endif()
if(NOT DEFINED SPMV_CUDA)
    set(SPMV_CUDA ON)
endif()

set(spmv_include "${CMAKE_CURRENT_LIST_DIR}/../../../include") # as installed
if(NOT EXISTS "${spmv_include}/spmv.h" OR EXISTS "${CMAKE_CURRENT_LIST_DIR}/../spmv.h")
    set(spmv_include "${CMAKE_CURRENT_LIST_DIR}/..") # as in the sources
endif()
get_filename_component(spmv_include "${spmv_include}" ABSOLUTE)

set(spmv_libraries)
set(spmv_directories "${spmv_include}")
set(spmv_definitions)
if(SPMV_OPENCL)
    find_package(OpenCL QUIET)
    if(NOT OpenCL_FOUND)
        set(spmv_FOUND FALSE)
        set(spmv_NOT_FOUND_MESSAGE "spmv: no OpenCL headers and library were found; set SPMV_OPENCL to OFF to do without")
        return()
    endif()
    # by file name, since the target OpenCL::OpenCL is visible only in the directory that called find_package
    list(APPEND spmv_libraries ${OpenCL_LIBRARIES})
    list(APPEND spmv_directories ${OpenCL_INCLUDE_DIRS})
else()
    list(APPEND spmv_definitions SPMV_NO_OPENCL)
endif()
if(SPMV_CUDA)
    list(APPEND spmv_libraries ${CMAKE_DL_LIBS})
else()
    list(APPEND spmv_definitions SPMV_NO_CUDA)
endif()
foreach(spmv_macro SPMV_STATIC SPMV_NO_STDIO SPMV_NO_F64 SPMV_NO_TUNING SPMV_REPRODUCIBLE)
    if(${spmv_macro})
        list(APPEND spmv_definitions ${spmv_macro})
    endif()
endforeach()
if(SPMV_REPRODUCIBLE AND NOT WIN32)
    list(APPEND spmv_libraries m)
endif()
if(SPMV_ONLY)
    list(APPEND spmv_definitions "SPMV_ONLY=${SPMV_ONLY}")
endif()

add_library(spmv::spmv INTERFACE IMPORTED ${spmv_scope})
set_target_properties(spmv::spmv PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${spmv_directories}"
    INTERFACE_COMPILE_DEFINITIONS "${spmv_definitions}"
    INTERFACE_LINK_LIBRARIES "${spmv_libraries}")
