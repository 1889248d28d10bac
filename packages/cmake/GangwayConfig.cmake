# Gangway's library for projects: find_package(Gangway) makes the target Gangway::Gangway, to be linked beside or behind OpenMP's own.
# find_package(OpenMP) that comes after it finds Gangway instead of the compiler's runtime. A project that knows nothing of it:
#     cmake -DCMAKE_PROJECT_INCLUDE=<this file> ...          (CMake 3.15 or later)

get_filename_component(Gangway_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Gangway_LIBRARY_DIR "${Gangway_PREFIX}/lib/gangway/compat")
set(Gangway_LIBRARY "${Gangway_LIBRARY_DIR}/libomp.so.5")
set(Gangway_INCLUDE_DIR "${Gangway_PREFIX}/include/gangway")
set(Gangway_EXECUTABLE "${Gangway_PREFIX}/bin/gangway")

if(NOT EXISTS "${Gangway_LIBRARY}")
  set(Gangway_FOUND FALSE)
  set(Gangway_NOT_FOUND_MESSAGE "${Gangway_LIBRARY} is not there")
  return()
endif()

if(NOT TARGET Gangway::Gangway)
  add_library(Gangway::Gangway SHARED IMPORTED GLOBAL)
  set_target_properties(Gangway::Gangway PROPERTIES
    IMPORTED_LOCATION "${Gangway_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Gangway_INCLUDE_DIR}")
endif()

# What FindOpenMP would look for, by the names that compilers link with.
foreach(Gangway_NAME IN ITEMS gomp omp iomp5)
  set(OpenMP_${Gangway_NAME}_LIBRARY "${Gangway_LIBRARY}" CACHE FILEPATH "Gangway in place of ${Gangway_NAME}" FORCE)
endforeach()
unset(Gangway_NAME)
