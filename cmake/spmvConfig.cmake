# SPDX-License-Identifier: MIT
# Defines the target spmv::spmv with the directory of the headers, the configuration macros, and the libraries that they need. This
# file is found by find_package(spmv), and included by CMakeLists.txt for add_subdirectory. Variables that may be set before either:
#   SPMV_OPENCL   ON (default): OpenCL devices as well, where CL/cl.h is found. OFF: SPMV_NO_OPENCL
#   SPMV_CUDA     ON (default): GPUs by CUDA as well. OFF: SPMV_NO_CUDA
#   SPMV_CL_LINK  OFF (default): OpenCL is loaded at run time, as CUDA always is. ON: it is linked
#   SPMV_OPENMP   OFF (default): products run in one thread, or in those of SPMV_PARALLEL. ON: in the threads of OpenMP
# and the macros of docs/configuration.md: those without a value by ON, those that are names by their value.
if(TARGET spmv::spmv)
    return()
endif()
foreach(spmv_name OPENCL CUDA)
    if(NOT DEFINED SPMV_${spmv_name})
        set(SPMV_${spmv_name} ON)
    endif()
    if(SPMV_NO_DEVICES OR SPMV_NO_${spmv_name})
        set(SPMV_${spmv_name} OFF)
    endif()
endforeach()

set(spmv_include "${CMAKE_CURRENT_LIST_DIR}/../../../include") # as installed
if(NOT EXISTS "${spmv_include}/spmv.h" OR EXISTS "${CMAKE_CURRENT_LIST_DIR}/../spmv.h")
    set(spmv_include "${CMAKE_CURRENT_LIST_DIR}/..") # as in the sources
endif()
get_filename_component(spmv_include "${spmv_include}" ABSOLUTE)

set(spmv_libraries)
set(spmv_directories "${spmv_include}")
set(spmv_definitions)
if(SPMV_OPENCL)
    find_package(OpenCL QUIET) # finds the headers without the library as well
    if(OpenCL_INCLUDE_DIR)
        list(APPEND spmv_directories ${OpenCL_INCLUDE_DIR})
    endif()
    if(SPMV_CL_LINK AND NOT OpenCL_FOUND)
        set(spmv_FOUND FALSE)
        set(spmv_NOT_FOUND_MESSAGE "spmv: OpenCL was not found; set SPMV_CL_LINK to OFF to load it at run time")
        return()
    elseif(SPMV_CL_LINK) # by file name, since the target OpenCL::OpenCL is visible only in the directory that called find_package
        list(APPEND spmv_libraries ${OpenCL_LIBRARIES})
    endif()
else()
    set(SPMV_NO_OPENCL ON)
endif()
if(NOT SPMV_CUDA)
    set(SPMV_NO_CUDA ON)
endif()
if(SPMV_OPENCL OR SPMV_CUDA)
    list(APPEND spmv_libraries ${CMAKE_DL_LIBS})
endif()
# Empty, as programs define them: the same definition twice is no warning.
get_cmake_property(spmv_names VARIABLES)
foreach(spmv_name ${spmv_names})
    if(spmv_name MATCHES "^SPMV_(NO_[A-Z0-9_]+|STATIC|REPRODUCIBLE|CL_LINK|CUDA_NO_OVERLAP)$" AND ${spmv_name})
        list(APPEND spmv_definitions "${spmv_name}=")
    elseif(spmv_name MATCHES "^SPMV_(ONLY|FORMATS_EXTRA|API|MALLOC|REALLOC|FREE)$" AND NOT "${${spmv_name}}" STREQUAL "")
        list(APPEND spmv_definitions "${spmv_name}=${${spmv_name}}")
    endif()
endforeach()
if(SPMV_REPRODUCIBLE AND NOT WIN32)
    list(APPEND spmv_libraries m)
endif()

set(spmv_options)
if(SPMV_OPENMP)
    find_package(OpenMP QUIET)
    if(NOT OpenMP_FOUND)
        set(spmv_FOUND FALSE)
        set(spmv_NOT_FOUND_MESSAGE "spmv: the compiler has no OpenMP; set SPMV_OPENMP to OFF to do without")
        return()
    endif()
    foreach(spmv_name C CXX)
        separate_arguments(spmv_flags UNIX_COMMAND "${OpenMP_${spmv_name}_FLAGS}")
        list(APPEND spmv_options ${spmv_flags})
        list(APPEND spmv_libraries ${OpenMP_${spmv_name}_LIBRARIES})
    endforeach()
    list(REMOVE_DUPLICATES spmv_options)
    list(REMOVE_DUPLICATES spmv_libraries)
elseif(NOT spmv_FIND_QUIETLY)
    message(STATUS "spmv: products run in one thread; -DSPMV_OPENMP=ON makes them use OpenMP")
endif()
if(NOT spmv_FIND_QUIETLY AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    message(STATUS "spmv: products are not optimised; -DCMAKE_BUILD_TYPE=Release does that")
endif()

add_library(spmv::spmv INTERFACE IMPORTED ${spmv_scope})
set_target_properties(spmv::spmv PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${spmv_directories}"
    INTERFACE_COMPILE_DEFINITIONS "${spmv_definitions}"
    INTERFACE_COMPILE_OPTIONS "${spmv_options}"
    INTERFACE_LINK_LIBRARIES "${spmv_libraries}")
