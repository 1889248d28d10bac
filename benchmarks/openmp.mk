# What the Makefiles of programs for one compiler share. Set CC and OUT on the command line.

CC ?= gcc
OUT ?= build
CFLAGS ?= -O2

ifeq ($(findstring clang,$(CC)),)
OPENMP ?= -fopenmp
else
OPENMP ?= -fopenmp=libomp
endif
