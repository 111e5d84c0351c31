# SPDX-License-Identifier: MIT
# Plain make; "make help" lists the targets. Variables to set on the command line: CC, CXX, OPT, OMP, LIBS.

CC     = cc
CXX    = c++
CLANG  = clang
OPT    = -O2
# OpenMP where the compiler has it; "make OMP=" builds without.
OMP   := $(shell sh tools/openmp.sh $(CC))
LIBS   = -lOpenCL -lz
WARN   = -Wall -Wextra -Werror
C99    = -std=c99 -D_POSIX_C_SOURCE=200809L -I.
HEADERS = $(wildcard spmv*.h)
TESTS  = $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
FUZZ   = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
SAN    = -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

all: build/spmv

help:
	@echo 'make              the command line, build/spmv'
	@echo 'make demo         a real matrix, multiplied in every format on the host and on OpenCL'
	@echo 'make test         everything that must hold; ends with "N passed, N failed"'
	@echo 'make single       the whole library as one header, dist/spmv.h'
	@echo 'make headers      writes the generated headers again (needs xxd)'
	@echo 'make check-headers   fails if they are not what the sources give'
	@echo 'make examples     compiles the examples and runs them'
	@echo 'make compile-checks  compilers, languages, cuts, symbols'
	@echo 'make unit         the unit tests without sanitizers'
	@echo 'make sanitize     the unit tests under address and undefined-behaviour sanitizers'
	@echo 'make pairs        every pair of values of two knobs on the first OpenCL device; some minutes'
	@echo 'make suite        makes every matrix of the papers and checks its size; a minute or two'
	@echo 'make oclgrind     every listed variant under a simulator that sees races and uninitialised memory'
	@echo 'make rusticl      every listed variant on Mesa'"'"'s rusticl, and reproducible products there'
	@echo 'make variants     the table of listed variants on the host and on the OpenCL drivers of the tests'
	@echo 'make fuzz         fuzzes the readers, FUZZ_SECONDS (60) each'
	@echo 'make sizes        object sizes of builds with parts left out, and lines of each header'
	@echo 'make man          manual pages of the command line in build/man, by help2man; look at one with man -l build/man/spmv.1'
	@echo 'make bench-host FILES="a.mtx ..."   host csr beside a plain loop and Eigen'
	@echo 'make clean'

# ---- programs ----
build/spmv: tools/spmv.c $(wildcard tools/*.c tools/*.h) $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) -DSPMV_REPRODUCIBLE $(CFLAGS) tools/spmv.c -o $@ $(LDFLAGS) $(LIBS) -lm

# its kernels can be given defects, to show that they are found
build/spmv-defect: tools/spmv.c $(wildcard tools/*.c tools/*.h) $(HEADERS) tests/self/defect.h
	@mkdir -p build
	$(CC) $(C99) -O1 $(WARN) -DSPMV_REPRODUCIBLE $(CFLAGS) -include tests/self/defect.h tools/spmv.c -o $@ \
	    $(LDFLAGS) $(LIBS) -lm

build/tests/%: tests/%.c $(HEADERS) $(wildcard tests/*.h tests/self/*.h)
	@mkdir -p build/tests
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS) $< -o $@ $(LDFLAGS) -lcriterion $(LIBS) -lm -pthread

build/san/%: tests/%.c $(HEADERS) $(wildcard tests/*.h tests/self/*.h)
	@mkdir -p build/san
	$(CC) $(C99) $(SAN) $(WARN) $(CFLAGS) $< -o $@ $(LDFLAGS) -lcriterion $(LIBS) -lm -pthread

build/tests/test_tools build/san/test_tools: tools/cli.h

build/fuzz/%: tests/fuzz/%.c $(HEADERS)
	@mkdir -p build/fuzz
	$(CLANG) $(C99) -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(WARN) $(CFLAGS) \
	    -DSPMV_ONLY=SPMV_BIT_CSR $< -o $@ -lm

build/host_csr: bench/host_csr.cpp bench/host_lib.c $(HEADERS)
	@mkdir -p build
	@sh tools/install.sh bench
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS) -c bench/host_lib.c -o build/host_lib.o
	$(CXX) -std=c++17 $(OPT) $(OMP) $(WARN) -I. -isystem /usr/include/eigen3 -DFLAGS='"$(OPT) $(OMP) $(CXXFLAGS)"' $(CXXFLAGS) \
	    bench/host_csr.cpp build/host_lib.o -o $@ -lz

build/threads: bench/threads.c $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(WARN) $(CFLAGS) bench/threads.c -o $@ $(LDFLAGS) -lOpenCL -pthread

# ---- headers ----
headers:
	sh tools/embed.sh

check-headers:
	sh tests/headers.sh

single: dist/spmv.h
dist/spmv.h: tools/single.sh $(HEADERS)
	@mkdir -p dist
	sh tools/single.sh >$@.new
	mv $@.new $@

# ---- what must hold ----
test:
	@sh tools/install.sh test
	@sh tests/run.sh
compile-checks:
	@sh tests/run.sh compile
unit:
	@sh tests/run.sh unit
sanitize:
	@sh tests/run.sh sanitize
pairs: build/tests/test_cl
	SPMV_TEST_PAIRS=1 build/tests/test_cl --filter '@(pairs|knobs)/*'
suite: build/spmv
	sh tests/suite.sh all
oclgrind:
	@sh tests/run.sh oclgrind uninitialized
rusticl:
	@sh tests/run.sh rusticl
examples:
	@sh tests/run.sh examples
fuzz: $(addprefix build/fuzz/,$(FUZZ))
	@sh tests/fuzz.sh $(FUZZ)

# ---- what to look at ----
demo:
	@sh tools/install.sh demo
	@$(MAKE) --no-print-directory build/spmv
	@sh tools/demo.sh
sizes: dist/spmv.h
	@sh tools/sizes.sh
variants:
	@sh bench/variants.sh
man: build/spmv
	sh tools/man.sh build/spmv build/man
bench-host: build/host_csr
	build/host_csr $(FILES)

clean:
	rm -rf build dist

.PHONY: all help headers check-headers single test compile-checks unit sanitize pairs suite oclgrind rusticl examples fuzz demo sizes \
        variants man bench-host clean
