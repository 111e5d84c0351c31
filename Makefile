# SPDX-License-Identifier: MIT
# A plain Makefile; "make help" lists the targets. Variables to set on the command line: CC, CXX, FLEX, BISON, OPT, OMP, LIBS.

CC     = cc
CXX    = c++
CLANG  = clang
FLEX   = flex
BISON  = bison
SED    = sed
OPT    = -O2
# OpenMP if the compiler has it; "make OMP=" builds without. This is determined once, when it is first needed.
OMP    = $(eval OMP := $(shell sh tools/openmp.sh $(CC)))$(OMP)
LIBS   = -ldl -lz
WARN   = -Wall -Wextra -Werror
C99    = -std=c99 -D_POSIX_C_SOURCE=200809L -I.
HEADERS = $(wildcard spmv*.h spmv/*.h spmv/*/*.h)
TESTS  = $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
FUZZ   = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
SAN    = -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Rules write to a temporary name and rename the file when it is complete, so that two makes at a time never see half a program.
NEW    = $@.$$$$
VERSION = $(shell sed -n 's/^.define SPMV_VERSION "\(.*\)"$$/\1/p' spmv.h)
# "make install" copies to $(DESTDIR)$(PREFIX)/include and so on; the installed files refer to PREFIX only.
PREFIX  = /usr/local
DESTDIR =
CMAKE_FILES = cmake/spmvConfig.cmake cmake/spmvConfigVersion.cmake
# Before 1.0 a minor version may change the interface, so both numbers are the shared library's.
SONAME      = libspmv.so.$(basename $(VERSION))
MAN1        = "$(DESTDIR)$(PREFIX)/share/man/man1"
PACKAGES    = spmv.pc spmv-host.pc

all: build/spmv

help:
	@echo 'make              builds the command line, build/spmv'
	@echo 'make build/spmvgen  builds the compiler for format descriptions (needs flex and bison)'
	@echo 'make demo         multiplies a real matrix in every format on the host and on OpenCL'
	@echo 'make test         runs the most informative tests: at most six minutes on two cores; ends with "N passed, N failed"'
	@echo 'make test-all     runs every test, those of make test first; about half an hour'
	@echo 'make single       writes the whole library as one header, dist/spmv.h'
	@echo 'make lib          compiles it for other languages: build/libspmv.so, with the functions of spmv_c.h'
	@echo 'make dist         writes it with its version in the name, and a checksum'
	@echo 'make install      installs headers, CMake and pkg-config files and the command line in PREFIX (/usr/local) under DESTDIR'
	@echo '                  (and its manual pages, if "make man" was run before)'
	@echo 'make install-headers  installs all but the command line; make install-lib also build/libspmv.so; "make uninstall" undoes them'
	@echo 'make fit          fits the costs in tuning/*.tune to their samples again, after a change of spmv/choice/cost.h'
	@echo 'make predicted    draws predicted over measured times of these samples to bench/results, and prints how many are good'
	@echo 'make headers      generates spmv/generated/*.h and docs/configuration.md again'
	@echo 'make kernels      writes the kernels of the library that spmvgen generates, and those headers (needs flex and bison)'
	@echo 'make ptx          compiles those that ship as PTX, kernels/ptx.list, to spmv/generated/ptx.h (needs NVRTC)'
	@echo 'make check-headers   fails if they are not up to date'
	@echo 'make examples     compiles the examples and runs them'
	@echo 'make compile-checks  compiles with several compilers, languages and macros, and checks the symbols'
	@echo 'make unit         runs the unit tests without sanitizers'
	@echo 'make sanitize     runs the unit tests under the address and undefined-behaviour sanitizers'
	@echo 'make pairs        tries every pair of values of two knobs on the first OpenCL device; takes some minutes'
	@echo 'make suite        generates every matrix of the papers and checks its size; takes a minute or two'
	@echo 'make oclgrind     runs every listed variant under a simulator that detects races and uninitialised memory'
	@echo 'make generator    tests every description of formats/ with every legal combination of options of spmvgen; takes some minutes'
	@echo 'make rusticl      runs every listed variant on Mesa'"'"'s rusticl, and reproducible products there'
	@echo 'make variants     prints how many variants work on the host and on the OpenCL drivers of the tests'
	@echo 'make fuzz         fuzzes the readers of files, for FUZZ_SECONDS (60) each'
	@echo 'make sizes        prints the object sizes of builds with parts left out, and the number of lines of each header'
	@echo 'make compile-time [OLD=a033291]  prints the seconds that compilers need, and those for the headers of a commit'
	@echo 'make man          writes manual pages of the command line to build/man, by help2man; see one with man -l build/man/spmv.1'
	@echo 'make bench-peers FILES="a.mtx ..." DEVICE=host|gpu   compares with other libraries: Eigen, librsb and MKL, or cuSPARSE'
	@echo 'make bench-regret FILES="a.mtx ..." DEVICE=D TYPE=T  compares the choice with the best plan that a search finds'
	@echo 'make bench-host   writes bench/results/host-bands.txt: speed of every format beside that of memory; compilers; OpenCL on the CPU'
	@echo 'make bench-papers DEVICE=D NAME=N    repeats the tables and figures of the five papers: bench/results/N-papers.txt, docs/papers.md'
	@echo 'make bench-report FROM=DIRECTORY NAME=N              writes bench/results/N*, the tables of the documentation and speed.png'
	@echo 'make clean        removes build and dist'

# ---- programs ----
# Each .c file of tools/ is compiled by itself. The .d file beside an object lists its sources.
TOOLS   = $(patsubst tools/%.c,%,$(wildcard tools/*.c tools/[!g]*/*.c))
TOOL_CC = $(CC) $(C99) $(OPT) $(OMP) $(WARN) -pedantic -Wshadow -Wconversion -Wmissing-prototypes -DSPMV_REPRODUCIBLE $(CFLAGS)
OBJECTS = $(patsubst %,build/obj/%.o,$(TOOLS))
# The kernels of spmv-defect can be given defects, so that tests can show that these are found.
DEFECTS = build/obj-defect/library.o
DEFECT_OBJECTS = $(DEFECTS) $(filter-out build/obj/library.o,$(OBJECTS))

build/spmv: $(OBJECTS)
	$(CC) $(OPT) $(OMP) $(CFLAGS) $(OBJECTS) -o $(NEW) $(LDFLAGS) $(LIBS) -lm && mv $(NEW) $@

build/spmv-defect: $(DEFECT_OBJECTS)
	$(CC) $(OPT) $(OMP) $(CFLAGS) $(DEFECT_OBJECTS) -o $(NEW) $(LDFLAGS) -lOpenCL $(LIBS) -lm && mv $(NEW) $@

build/obj/%.o: tools/%.c build/obj/flags
	@mkdir -p $(@D)
	$(TOOL_CC) -MMD -MP -MF $(NEW).d -MT $@ -c $< -o $(NEW) && \
	    mv $(NEW).d $(@:.o=.d) && mv $(NEW) $@

# What draws the pictures is part of the program, each of its lines a string.
build/obj/picture/picture.o: build/obj/plot.inc
build/obj/plot.inc: tools/plot.py
	@mkdir -p $(@D)
	$(SED) 's/[\\"]/\\&/g; s/.*/"&\\n",/' $< >$(NEW) && mv $(NEW) $@

build/obj-defect/%.o: tools/%.c build/obj/flags
	@mkdir -p $(@D)
	$(TOOL_CC) -O1 -include tests/self/defect.h -MMD -MP -MF $(NEW).d -MT $@ -c $< -o $(NEW) && \
	    mv $(NEW).d $(@:.o=.d) && mv $(NEW) $@

# The generator of code from format descriptions, from sources of its own. What flex and bison write is compiled with fewer warnings.
GEN      = $(patsubst tools/gen/%.c,%,$(wildcard tools/gen/*.c))
GEN_OBJECTS = $(patsubst %,build/gen/%.o,$(GEN) scan parse)
GEN_CC   = $(CC) $(C99) -Ibuild/gen $(OPT) $(WARN) $(CFLAGS)
GEN_WARN = -pedantic -Wshadow -Wconversion -Wmissing-prototypes

build/spmvgen: $(GEN_OBJECTS)
	$(CC) $(OPT) $(CFLAGS) $(GEN_OBJECTS) -o $(NEW) $(LDFLAGS) && mv $(NEW) $@

build/gen/%.o: tools/gen/%.c $(wildcard tools/gen/*.h)
	@mkdir -p $(@D)
	$(GEN_CC) $(GEN_WARN) -c $< -o $(NEW) && mv $(NEW) $@

build/gen/cl_source.o: spmv/generated/kernels.h

build/gen/%.o: build/gen/%.c $(wildcard tools/gen/*.h)
	$(GEN_CC) -Wno-unused-function -c $< -o $(NEW) && mv $(NEW) $@

build/gen/scan.c: tools/gen/scan.l build/gen/parse.c
	$(FLEX) -o $(NEW) $< && mv $(NEW) $@

# bison writes parse.h as well
build/gen/parse.c: tools/gen/parse.y
	@mkdir -p $(@D)
	$(BISON) -Wall -Wno-yacc -Werror --header=$(@:.c=.h).$$$$ -o $(NEW) $< && mv $(@:.c=.h).$$$$ $(@:.c=.h) && mv $(NEW) $@

# They multiply with generated kernels, and compile them for CUDA: tests/generator.sh
build/gen/multiply: tests/gen/multiply.c tools/gen/measure/within.h tools/gen/measure/other_text.h $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(C99) $(TEST_OPT) $(WARN) $(CFLAGS) -DSPMV_NO_SIMD $< -o $(NEW) $(LDFLAGS) -ldl -lm && mv $(NEW) $@

build/gen/compile: tests/gen/compile.c tools/gen/measure/other_text.h build/cuda/libcuda.so.1 $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(C99) $(TEST_OPT) $(WARN) $(CFLAGS) -DSPMV_NO_SIMD $< build/cuda/libcuda.so.1 -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../cuda' \
	    -o $(NEW) && mv $(NEW) $@

# Compiles the programs that ship as PTX: make ptx
build/gen/ptx: tools/gen/ptx/ptx.c $(filter-out spmv/generated/ptx.h,$(HEADERS))
	@mkdir -p $(@D)
	$(CC) $(C99) $(OPT) $(WARN) $(GEN_WARN) $(CFLAGS) -DSPMV_NO_SIMD -DPTX_SOURCE=$$(cksum <$< | cut -d' ' -f1)u $< -o $(NEW) $(LDFLAGS) \
	    -ldl && mv $(NEW) $@

# Lists these programs: make ptx-list
build/gen/list: tools/gen/ptx/list.c $(filter-out spmv/generated/ptx.h,$(HEADERS))
	@mkdir -p $(@D)
	$(CC) $(C99) $(OPT) $(WARN) $(GEN_WARN) $(CFLAGS) -DSPMV_NO_SIMD $< -o $(NEW) $(LDFLAGS) -ldl && mv $(NEW) $@

# Times generated kernels beside those of the library: bench/generator.sh
build/gen/measure: tools/gen/measure/measure.c tools/gen/measure/within.h tools/gen/measure/other_text.h $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(C99) $(OPT) $(WARN) $(CFLAGS) -DSPMV_NO_SIMD $< -o $(NEW) $(LDFLAGS) $(LIBS) -lm && mv $(NEW) $@

# This file holds the flags of the objects. When they change, as by "make OMP=", the objects are compiled again.
.PHONY: flags
build/obj/flags: flags
	@mkdir -p $(@D)
	@echo '$(subst ','"'"',$(TOOL_CC))' >$(NEW); if cmp -s $(NEW) $@; then rm $(NEW); else mv $(NEW) $@; fi

-include $(OBJECTS:.o=.d) $(DEFECTS:.o=.d)

# Tests that do not define SPMV_IMPLEMENTATION are linked with the library that tests/library.c compiles once for all. The others are not
# about products on the host, so they compile only the plain form of these, with TEST_OPT, which takes less time.
LIBRARY_TESTS = $(patsubst tests/%.c,%,$(shell grep -sL 'define SPMV_IMPLEMENTATION' tests/test_*.c))
TEST_CC  = $(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS)
SAN_CC   = $(CC) $(C99) $(SAN) $(WARN) $(CFLAGS)
TEST_HEADERS = $(HEADERS) $(wildcard tests/*.h tests/self/*.h tools/library.*)
SIMD     = -DSPMV_NO_SIMD
TEST_OPT = -O1
$(LIBRARY_TESTS:%=build/tests/%): build/tests/library.o
$(LIBRARY_TESTS:%=build/tests/%): EXTRA = build/tests/library.o
$(LIBRARY_TESTS:%=build/san/%): build/san/library.o
$(LIBRARY_TESTS:%=build/san/%): EXTRA = build/san/library.o

# these call OpenCL themselves
OPENCL_TESTS = $(foreach t,test_cl test_faults test_group test_tail,build/tests/$t build/san/$t)
$(OPENCL_TESTS): EXTRA += -lOpenCL
SELFCHECK_TESTS = $(foreach t,test_cl test_cuda test_faults,build/tests/$t build/san/$t)
$(SELFCHECK_TESTS): tools/measure/selfcheck.c tools/measure/selfcheck.h
$(SELFCHECK_TESTS): EXTRA += tools/measure/selfcheck.c

# Products may be fused with sums, as where a user gives gcc no standard; build/san has them apart.
build/tests/library.o: tests/library.c $(TEST_HEADERS)
	@mkdir -p build/tests
	$(TEST_CC) -ffp-contract=fast -c $< -o $(NEW) && mv $(NEW) $@

build/san/library.o: tests/library.c $(TEST_HEADERS)
	@mkdir -p build/san
	$(SAN_CC) $(TEST_OPT) -c $< -o $(NEW) && mv $(NEW) $@

build/tests/%: tests/%.c $(TEST_HEADERS)
	@mkdir -p build/tests
	$(TEST_CC) $(SIMD) $(TEST_OPT) $< $(EXTRA) -o $(NEW) $(LDFLAGS) -lcriterion $(LIBS) -lm -pthread && mv $(NEW) $@

# Not optimised: that compiles in a third of the time and leaves every access to memory in place. Warnings that need optimisation come from
# build/tests, which is built from the same files.
build/san/%: tests/%.c $(TEST_HEADERS)
	@mkdir -p build/san
	$(SAN_CC) $(SIMD) -O0 $< $(EXTRA) -o $(NEW) $(LDFLAGS) -lcriterion $(LIBS) -lm -pthread && mv $(NEW) $@

# The half that compile/*/same* have in common (tests/compile/list.sh)
build/compile/%-two_a.o: tests/compile/two_a.c tests/compile/two.h $(HEADERS)
	@mkdir -p build/compile
	$(if $(filter clang,$*),$(CLANG),$*) -std=c99 -pedantic $(WARN) -Wshadow -Wconversion -O0 -I. -DSPMV_NO_SIMD -c $< -o $(NEW) && mv $(NEW) $@

# A driver and a compiler of CUDA that compute nothing. The compiler is in a folder of its own, so that a program finds it only if
# it is to: tests/cuda/compile.c wants NVIDIA's.
FAKE_CC = $(CC) $(C99) -g $(WARN) $(CFLAGS) -shared -fPIC $<
build/cuda/libcuda.so.1: tests/cuda/fake.c tests/cuda/fake.h
	@mkdir -p build/cuda
	$(FAKE_CC) -Wl,-soname,libcuda.so.1 -o $(NEW) && mv $(NEW) $@

build/cuda/compiler/libnvrtc.so.13: tests/cuda/fake.c tests/cuda/fake.h build/cuda/libcuda.so.1
	@mkdir -p build/cuda/compiler
	$(FAKE_CC) -DCOMPILER build/cuda/libcuda.so.1 -Wl,-soname,libnvrtc.so.13 -o $(NEW) && mv $(NEW) $@

build/cuda/compile: tests/cuda/compile.c build/cuda/libcuda.so.1 $(HEADERS)
	$(CC) $(C99) $(TEST_OPT) $(WARN) $(CFLAGS) $(SIMD) $< build/cuda/libcuda.so.1 -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -o $(NEW) && mv $(NEW) $@

FAKE_CUDA = build/cuda/libcuda.so.1 -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../cuda:$$ORIGIN/../cuda/compiler'
build/tests/test_cuda build/san/test_cuda: build/cuda/compiler/libnvrtc.so.13
TIMED = tools/measure/graph.c tools/measure/runner.c
build/tests/test_cuda build/san/test_cuda: $(TIMED) tools/measure/graph.h tools/measure/runner.h tools/cli/cli.h
build/tests/test_cuda build/san/test_cuda: EXTRA += $(TIMED) $(FAKE_CUDA)

# test_tools tests modules of the command line, which are compiled with it
TESTED_TOOLS = tools/cli/cli.c tools/cli/memory.c
build/tests/test_tools build/san/test_tools: $(TESTED_TOOLS) tools/cli/cli.h tools/cli/memory.h
build/tests/test_tools build/san/test_tools: EXTRA += $(TESTED_TOOLS)

build/fuzz/%: tests/fuzz/%.c $(HEADERS)
	@mkdir -p build/fuzz
	$(CLANG) $(C99) -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(WARN) $(CFLAGS) \
	    -DSPMV_ONLY=SPMV_BIT_CSR $< $(EXTRA) -o $(NEW) -lm && mv $(NEW) $@

# fuzz_fmt fuzzes the generator, which is compiled with it
FUZZ_GEN = $(filter-out tools/gen/spmvgen.c,$(wildcard tools/gen/*.c)) build/gen/scan.c build/gen/parse.c
build/fuzz/fuzz_fmt: $(FUZZ_GEN) $(wildcard tools/gen/*.h)
build/fuzz/fuzz_fmt: EXTRA = $(FUZZ_GEN) -Ibuild/gen -Wno-unused-function -O0

build/threads: bench/threads.c bench/common.h $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(WARN) $(CFLAGS) bench/threads.c -o $(NEW) $(LDFLAGS) -lOpenCL -ldl -pthread && mv $(NEW) $@

build/two_devices: bench/two_devices.c bench/common.h bench/matrix.h $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(WARN) $(CFLAGS) bench/two_devices.c -o $(NEW) $(LDFLAGS) -lOpenCL -ldl && mv $(NEW) $@

build/permuted: bench/permuted.c bench/common.h bench/matrix.h $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS) bench/permuted.c -o $(NEW) $(LDFLAGS) -ldl && mv $(NEW) $@

build/prepare: bench/prepare.c bench/common.h $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS) bench/prepare.c -o $(NEW) $(LDFLAGS) -ldl -lm && mv $(NEW) $@

build/groups: bench/groups.c bench/common.h $(HEADERS)
	@mkdir -p build
	$(CC) $(C99) $(OPT) $(OMP) $(WARN) $(CFLAGS) bench/groups.c -o $(NEW) $(LDFLAGS) -ldl -lm && mv $(NEW) $@

# ---- headers ----
headers:
	sh tools/embed.sh
	sh tools/config.sh >docs/configuration.new && mv docs/configuration.new docs/configuration.md
	@echo 'after a change of kernels also: make ptx (unit/test_cuda fails until then)'

# the costs of the bundled tables again from the samples beside them
fit: build/spmv
	set -e; for s in tuning/*.samples.gz; do build/spmv tune --fit $$s --from $${s%.samples.gz}.tune --out $${s%.samples.gz}.tune; done
	sh tools/embed.sh

# how good the estimates by the bundled tables are: pictures and shares in bench/results, after make fit or a new table
predicted: build/spmv
	set -e; { echo 'Machine and date: those of each table, by whose device the samples were measured.'; \
	echo 'Command: make predicted'; echo; \
	for s in tuning/*.samples.gz; do \
	    n=$$(basename $$s .samples.gz); t=tuning/$$n.tune; \
	    echo "$$n, by $$t: $$(sed -n 's/^device //p' $$t), $$(sed -n 's/^driver //p' $$t); $$(sed -n 's/^date //p' $$t)"; \
	    build/spmv plot predicted tuning/$$n.tune $$s -o bench/results/$$n-predicted.png; echo; \
	done; } >bench/results/predicted.txt
	cat bench/results/predicted.txt

check-headers:
	sh tests/headers.sh

# what spmvgen writes for the library (needs flex and bison)
kernels: build/spmvgen
	sh tools/generate.sh
	sh tools/embed.sh
	$(MAKE) ptx
	build/spmvgen examples/own_format/ellr.fmt --target library -o examples/own_format/ellr.h

# the programs that ship compiled (needs NVRTC, of CUDA 13 for the same bytes): spmv/generated/ptx.h
ptx: build/gen/ptx
	nvcc=$$(command -v nvcc) && cuda=$$(dirname "$$nvcc")/..; \
	LD_LIBRARY_PATH=$$LD_LIBRARY_PATH:$$cuda/lib64:$$cuda/lib build/gen/ptx kernels/ptx.list spmv/generated/ptx.h

# which these are, after a change of tuning/, of the choice or of defaults: kernels/ptx.list
ptx-list: build/gen/list
	build/gen/list >kernels/ptx.list.new && mv kernels/ptx.list.new kernels/ptx.list
	$(MAKE) ptx

single: dist/spmv.h
dist/spmv.h: tools/single.sh $(HEADERS)
	@mkdir -p dist
	sh tools/single.sh >$(NEW) && mv $(NEW) $@

# ---- the library for other languages ----
LIB_CC = $(CC) $(C99) $(OPT) $(OMP) $(WARN) -pedantic -Wshadow -Wconversion -Wmissing-prototypes -shared -fPIC -fvisibility=hidden $(CFLAGS)
lib: build/libspmv.so
# in build/check-lib, the plain products for tests
build/check-lib/libspmv.so: LIB_CC += $(SIMD) -O0
build/libspmv.so build/check-lib/libspmv.so: spmv_c.c $(HEADERS)
	@mkdir -p $(@D)
	$(LIB_CC) $< -Wl,-soname,$(SONAME) -o $(NEW) $(LDFLAGS) -ldl && mv $(NEW) $@
	ln -sf $(@F) $(@D)/$(SONAME)

# ---- releases and installation; DESTDIR is only where files are staged, so no installed file refers to it ----
dist: dist/spmv.h
	cp dist/spmv.h dist/spmv-$(VERSION).h.new && mv dist/spmv-$(VERSION).h.new dist/spmv-$(VERSION).h
	cd dist && sha256sum spmv-$(VERSION).h >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS && cat SHA256SUMS

install: install-headers build/spmv
	mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	cp build/spmv "$(DESTDIR)$(PREFIX)/bin/spmv"
	if [ -e build/man/spmv.1 ]; then mkdir -p $(MAN1) && cp build/man/*.1 $(MAN1)/; fi

install-headers:
	mkdir -p $(foreach d,include share/pkgconfig share/cmake/spmv,"$(DESTDIR)$(PREFIX)/$d")
	cp -r $(wildcard spmv*.h) spmv "$(DESTDIR)$(PREFIX)/include/"
	cp $(CMAKE_FILES) "$(DESTDIR)$(PREFIX)/share/cmake/spmv/"
	for p in $(PACKAGES); do \
	    sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|' cmake/$$p.in >"$(DESTDIR)$(PREFIX)/share/pkgconfig/$$p" || exit 1; done

install-lib: install-headers build/libspmv.so
	mkdir -p "$(DESTDIR)$(PREFIX)/lib"
	cp build/libspmv.so "$(DESTDIR)$(PREFIX)/lib/$(SONAME)" && ln -sf $(SONAME) "$(DESTDIR)$(PREFIX)/lib/libspmv.so"

# removes the files that these installed, and the directory that is theirs alone
uninstall:
	rm -rf "$(DESTDIR)$(PREFIX)/include/spmv"
	rm -f $(foreach l,libspmv.so $(SONAME),"$(DESTDIR)$(PREFIX)/lib/$l")
	rm -f "$(DESTDIR)$(PREFIX)/bin/spmv" $(MAN1)/spmv.1 $(MAN1)/spmv-*.1 $(foreach f,$(wildcard spmv*.h),"$(DESTDIR)$(PREFIX)/include/$f") \
	    $(foreach p,$(PACKAGES),"$(DESTDIR)$(PREFIX)/share/pkgconfig/$p") \
	    $(foreach f,$(CMAKE_FILES),"$(DESTDIR)$(PREFIX)/share/cmake/spmv/$(notdir $f)")
	if [ -d "$(DESTDIR)$(PREFIX)/share/cmake/spmv" ]; then rmdir "$(DESTDIR)$(PREFIX)/share/cmake/spmv"; fi

# ---- tests ----
test:
	@sh tools/install.sh test
	@sh tests/run.sh --quick
test-all:
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
suite:
	@sh tests/run.sh suite
oclgrind:
	@sh tests/run.sh oclgrind
generator:
	@sh tests/run.sh generator
rusticl:
	@sh tests/run.sh rusticl
examples:
	@sh tests/run.sh examples
fuzz: $(addprefix build/fuzz/,$(FUZZ))
	@sh tests/fuzz.sh $(FUZZ)

# ---- demonstration, sizes and manual pages ----
demo:
	@sh tools/install.sh demo
	@$(MAKE) --no-print-directory build/spmv
	@sh tools/demo.sh
sizes: dist/spmv.h
	@sh tools/sizes.sh
compile-time:
	@sh tools/compile_time.sh $(OLD)
variants:
	@sh bench/variants.sh
man: build/spmv
	sh tools/man.sh build/spmv build/man

# ---- benchmarks; the comments of the scripts say what else can be set ----
DEVICE = host
TYPE   = f64
bench-peers: build/spmv
	@DEVICE="$(DEVICE)" sh bench/peers.sh $(FILES)
bench-regret: build/spmv
	@sh bench/regret.sh "$(DEVICE)" "$(TYPE)" $(FILES)
bench-host:
	@sh bench/host.sh >build/host.new && mv build/host.new bench/results/host-bands.txt
# STEP=measure leaves only build/papers/NAME, STEP=page makes text, pictures and the page of it
bench-papers: build/spmv $(if $(filter page,$(STEP)),,build/spmvgen build/gen/measure build/permuted build/two_devices)
	@[ "$(STEP)" = page ] || sh bench/papers.sh "$(DEVICE)" build/papers/$(NAME)
	@[ "$(STEP)" = measure ] || sh bench/report.sh build/papers/$(NAME) $(NAME)
bench-report:
	@sh bench/report.sh $(FROM) $(NAME) $(MATRICES)

clean:
	rm -rf build dist

.PHONY: all help headers fit predicted kernels ptx ptx-list check-headers single lib dist install install-headers install-lib uninstall test test-all \
        compile-checks unit sanitize pairs suite oclgrind generator rusticl examples fuzz demo sizes compile-time variants man bench-peers bench-regret \
        bench-host bench-papers bench-report clean
