#!/bin/sh
# Filters of GraphicsMagick in one process; prints a hash of the pixels after each. Arguments: the gm binary, width.
. "$(dirname "$0")/runtime_used.sh"
size="$2x$(($2 * 3 / 4))"
"$1" convert -size "$size" gradient:red-blue -swirl 200 -wave 9x60 "$scratch/in.miff"
cat > "$scratch/batch" <<LIST
convert $scratch/in.miff -blur 0x4 $scratch/1.ppm
convert $scratch/in.miff -resize 61% $scratch/2.ppm
convert $scratch/in.miff -unsharp 0x2 $scratch/3.ppm
convert $scratch/in.miff -median 3 $scratch/4.ppm
convert $scratch/in.miff -edge 2 $scratch/5.ppm
convert $scratch/in.miff -modulate 90,120 -equalize $scratch/6.ppm
convert $scratch/in.miff -implode 0.4 -rotate 17 $scratch/7.ppm
convert $scratch/in.miff -motion-blur 0x6+30 $scratch/8.ppm
convert $scratch/in.miff -despeckle -normalize $scratch/9.ppm
LIST
measured "$1" batch -stop-on-error on "$scratch/batch"
for n in 1 2 3 4 5 6 7 8 9; do echo "$n $(md5sum < "$scratch/$n.ppm")"; done
