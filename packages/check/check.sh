#!/bin/sh
# check.sh PREFIX [bare|quick]: whether what is installed below PREFIX works: alone, with the first compiler that is here, with all and CMake. Run in a directory with program.c and CMakeLists.txt, which it
# may fill. Prints `ok NAME`, `FAIL NAME: WHY` or `skip NAME: WHY` for each check.
prefix=$1
extent=$2
unset LD_PRELOAD LD_LIBRARY_PATH GANGWAY_LIB
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME

# is NAME WANTED COMMAND...: the last line of its standard output.
is() {
    name=$1 wanted=$2
    shift 2
    said=$("$@" 2>messages | tail -n 1)
    if [ "$said" = "$wanted" ]; then echo "ok $name"; else echo "FAIL $name: '$said' instead of '$wanted'; $(tail -n 1 messages)"; fi
}

has() { command -v "$1" >/dev/null 2>&1; }

is "gangway --version" "gangway @VERSION@" "$prefix/bin/gangway" --version
if "$prefix/bin/gangway" info >info.txt 2>messages && grep -q "^library .*$prefix/lib/gangway/" info.txt; then
    echo "ok gangway info"
else
    echo "FAIL gangway info: $(cat info.txt messages)"
fi
[ -d "$XDG_CACHE_HOME" ] && echo "FAIL gangway info: made links, though the package has them"
if "$prefix/bin/gangway" doctor --static true >doctor.txt 2>messages; then echo "ok gangway doctor"; else echo "FAIL gangway doctor: $(tail -n 1 messages)"; fi
is "a program on the library" yes "$prefix/bin/gangway" run sh -c "grep -q libomp-libgangway /proc/self/maps && echo yes"
[ "$extent" = bare ] && exit

built=
for compiler in gcc clang clang-19 clang-14; do
    has $compiler || continue
    [ "$extent" = quick ] && [ "$built" ] && continue
    if ! $compiler -fopenmp program.c -o "by-$compiler" 2>messages; then
        echo "skip program of $compiler: it does not build ($(tail -n 1 messages))"
        continue
    fi
    built="$built $compiler"
    is "own runtime, $compiler" "9 another runtime" "./by-$compiler"
    is "gangway run, $compiler" "9 gangway" "$prefix/bin/gangway" run --verify "./by-$compiler"
    is "LD_PRELOAD, $compiler" "9 gangway" env LD_PRELOAD="$prefix/lib/gangway/libgangway.so" "./by-$compiler"
    is "LD_LIBRARY_PATH, $compiler" "9 gangway" env LD_LIBRARY_PATH="$prefix/lib/gangway/compat" "./by-$compiler"
    if has pkg-config; then
        PKG_CONFIG_PATH=$prefix/lib/pkgconfig
        export PKG_CONFIG_PATH
        # shellcheck disable=SC2046
        if $compiler -fopenmp -c program.c $(pkg-config --cflags gangway) -o program.o && $compiler program.o $(pkg-config --libs gangway) -o "linked-$compiler"; then
            is "pkg-config, $compiler" "9 gangway" "./linked-$compiler"
        else
            echo "FAIL pkg-config, $compiler: it does not build"
        fi
    else
        echo "skip pkg-config, $compiler: not installed here"
    fi
done
[ "$built" ] || echo "skip programs: no compiler is here"

if [ "$extent" = quick ]; then
    :
elif has cmake && [ "$built" ]; then
    if cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" >messages 2>&1 && cmake --build build >>messages 2>&1; then
        is "find_package(OpenMP) behind find_package(Gangway)" "9 gangway" build/openmp
        is "find_package(Gangway)" "9 gangway" build/target
    else
        echo "FAIL cmake: $(grep -i error messages | tail -n 1)"
    fi
    if cmake -S . -B plain -DPLAIN=ON -DCMAKE_PROJECT_INCLUDE="$prefix/lib/cmake/Gangway/GangwayConfig.cmake" >messages 2>&1 && cmake --build plain >>messages 2>&1; then
        is "find_package(OpenMP) of a project that knows nothing" "9 gangway" plain/openmp
    else
        echo "FAIL cmake, plain: $(grep -i error messages | tail -n 1)"
    fi
else
    echo "skip cmake: not installed here, or no compiler"
fi
