#!/bin/sh
# Makes the subsets of Inter in this folder: subset.sh FOLDER, the `files` of the npm package @fontsource-variable/inter
# 5.3.0. Needs `pip install fonttools brotli`.
set -eu
here=$(dirname "$0")
subset() {
  # weights beyond these are not used
  fonttools varLib.instancer -q "$2" wght=400:700 -o "$here/$1.ttf"
  pyftsubset "$here/$1.ttf" --unicodes="$3" --layout-features="$4" --no-hinting --flavor=woff2 --output-file="$here/$1.woff2"
  rm "$here/$1.ttf"
}
punctuation=U+2010-2027,U+2030,U+2032,U+2033,U+2039,U+203A,U+2044,U+20AC,U+2122,U+2191,U+2193,U+2212
subset inter "$1/inter-latin-wght-normal.woff2" "U+20-7E,U+A0-FF,U+131,U+152,U+153,U+2C6,U+2DA,U+2DC,$punctuation" kern,tnum,calt,ccmp,case
subset inter-extended "$1/inter-latin-ext-wght-normal.woff2" U+100-130,U+132-151,U+154-17F kern
