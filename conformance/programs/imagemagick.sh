#!/bin/sh
# Several filters of ImageMagick; prints the hash of the pixels after each. Arguments: the convert binary, width.
convert=$1
width=$2
size="${width}x$((width * 3 / 4))"

# The binary is not ours, so the loader is asked which library it would map.
if LD_TRACE_LOADED_OBJECTS=1 "$convert" | grep -o '/[^ ]*' | xargs readlink -f | grep -q libgangway.so; then
    echo "runtime: gangway" >&2
else
    echo "runtime: other" >&2
fi

filter() {
    printf '%s ' "$1"
    shift
    "$convert" -size "$size" gradient:red-blue \( -size "$size" pattern:checkerboard \) -compose blend \
        -define compose:args=60 -composite -swirl 120 -depth 8 "$@" -format '%#\n' info:
}

filter plain
filter blur -blur 0x3
filter resize -resize 61%
filter sharpen -unsharp 0x2
filter lab -colorspace Lab -modulate 90,120
filter median -statistic median 3x3
filter edge -edge 2
filter emboss -emboss 0x1
filter distort -distort Perspective '0,0 20,10  90,0 85,5  0,90 5,70  90,90 95,95'
filter morphology -morphology Dilate Octagon
filter equalize -equalize -implode 0.3
