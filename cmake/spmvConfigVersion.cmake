# SPDX-License-Identifier: MIT
# Tells find_package(spmv VERSION) whether this version is compatible. The version is read from spmv.h, the only place where it is
# written. Until 1.0, the interface may change with every minor version, afterwards with every major one.
set(spmv_header "${CMAKE_CURRENT_LIST_DIR}/../../../include/spmv.h") # as installed
if(NOT EXISTS "${spmv_header}" OR EXISTS "${CMAKE_CURRENT_LIST_DIR}/../spmv.h")
    set(spmv_header "${CMAKE_CURRENT_LIST_DIR}/../spmv.h") # as in the sources
endif()
file(STRINGS "${spmv_header}" spmv_line REGEX "^#define SPMV_VERSION \"")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" PACKAGE_VERSION "${spmv_line}")

set(spmv_pattern "^([0-9]+)\\.([0-9]+).*")
if(PACKAGE_VERSION VERSION_LESS 1.0)
    string(REGEX REPLACE "${spmv_pattern}" "\\1.\\2" spmv_have "${PACKAGE_VERSION}")
    set(spmv_want "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}")
else()
    string(REGEX REPLACE "${spmv_pattern}" "\\1" spmv_have "${PACKAGE_VERSION}")
    set(spmv_want "${PACKAGE_FIND_VERSION_MAJOR}")
endif()
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT spmv_have VERSION_EQUAL spmv_want)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
