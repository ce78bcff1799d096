# make run     pack the dictionaries and open the reading site on http://127.0.0.1:8080
# make test    everything: Rust, the browser, PostgreSQL, EPUB checks
# make bench   measure against the peers and write BENCHMARKS.md
# make fuzz    a minute of every fuzz target; FUZZ_SECONDS says how much longer
# make lint    formatting and lints;  make fmt  mend the formatting
#
# Without root, `run` and `test` say what to install. Newer dictionaries from EDRDG go by name:
#   make run WORDS=JMdict_e.gz NAMES=enamdict.gz KANJI=kanjidic.gz

SHELL   := /bin/sh
EDRDG   := /usr/share/edict
WORDS   := $(EDRDG)/edict
NAMES   := $(EDRDG)/enamdict
KANJI   := $(EDRDG)/kanjidic
LISTEN  := 127.0.0.1:8080
SAKUIN  := target/release/sakuin
READER  := examples/reader
TODAY   := $(shell date +%F)
TEXTS   :=
FUZZ_SECONDS := 60
ORIGINAL := crates/sakuin-cli/tests/it/original
CONTACTS := crates/sakuin-cli/tests/it/contacts
PUBLISH  := crates/sakuin-cli/tests/it/publish
PROTO    := crates/sakuin-grpc/proto
# The original question's servers beside live tables, and the compiler of their `.proto`.
FEATURES_PYTHON := bench/target/features-python
FEATURES_GO     := bench/target/features-go
PROTOC          := bench/target/live-python/bin/python -m grpc_tools.protoc --proto_path=$(PROTO)

.PHONY: run build dictionaries tools test test-python ruby test-ruby bench bench-cache bench-serve bench-directory bench-contacts bench-settings bench-bindings bench-publish bench-live bench-nearest bench-report fuzz fmt lint

run: $(READER)/japanese.skn build
	$(SAKUIN) stories add --config $(READER)/sakuin.toml $(READER)/stories.jsonl
	$(SAKUIN) serve $(READER)/sakuin.toml --listen $(LISTEN)

build:
	@scripts/install build-essential
	cargo build --release --locked --package sakuin-cli

# Packed again when a dictionary file or the packer is newer.
$(READER)/japanese.skn: dictionaries build
	@if [ ! -e $@ ] || [ -n "$$(find $(WORDS) $(NAMES) $(KANJI) $(SAKUIN) -newer $@)" ]; then \
	    $(SAKUIN) japanese pack --words $(WORDS) --names $(NAMES) --kanji $(KANJI) --output $@; fi

dictionaries:
ifneq ($(findstring $(EDRDG),$(WORDS) $(NAMES) $(KANJI)),)
	@scripts/install edict enamdict kanjidic
endif

test: tools
	cargo test --workspace --locked
	$(MAKE) test-python test-ruby

# The wheel, installed into an environment of its own; the tests ask the command for a dictionary.
test-python:
	@scripts/install python3-venv
	test -x target/debug/sakuin || cargo build --locked --package sakuin-cli
	test -d target/python-test || python3 -m venv target/python-test
	target/python-test/bin/pip install --quiet --requirement bindings/python/tests/requirements.txt
	cd bindings/python && CARGO_TARGET_DIR=$(CURDIR)/target/python \
	    $(CURDIR)/target/python-test/bin/maturin build --quiet --locked --profile dev --out $(CURDIR)/target/wheels
	target/python-test/bin/pip install --quiet --force-reinstall --no-index target/wheels/sakuin-*.whl
	cd bindings/python && ../../target/python-test/bin/python -m pytest -p no:cacheprovider
	cd bindings/python && ../../target/python-test/bin/python -m mypy --cache-dir $(CURDIR)/target/mypy \
	    tests/typed.py $(CURDIR)/examples/settings

tools: target/grpcurl target/fake-gcs-server target/grpc-python target/vdirsyncer target/moto target/azurite
	@scripts/install build-essential curl sqlite3 postgresql edict enamdict kanjidic chromium chromium-driver fonts-noto-cjk epubcheck litmus

# Clients of gRPC that others wrote: one that asks the server what it serves, and the generator for Python.
target/grpcurl:
	@command -v go >/dev/null || scripts/install golang
	GOBIN=$(CURDIR)/target go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.1

# What stands for Google Cloud Storage.
target/fake-gcs-server:
	@command -v go >/dev/null || scripts/install golang
	GOBIN=$(CURDIR)/target go install github.com/fsouza/fake-gcs-server@v1.56.1

target/grpc-python: $(ORIGINAL)/requirements.txt
	@scripts/install python3-venv
	test -d $@ || python3 -m venv $@
	$@/bin/pip install --quiet --requirement $(ORIGINAL)/requirements.txt
	touch $@

# Clients of contacts, and the tests that one of them has of the servers it talks to.
target/vdirsyncer: $(CONTACTS)/requirements.txt $(CONTACTS)/mixin.py
	@scripts/install python3-venv
	test -d $@ || python3 -m venv $@
	$@/bin/pip install --quiet --requirement $(CONTACTS)/requirements.txt
	$@/bin/pip download --quiet --no-deps --no-binary :all: --dest $@/sdist "$$(grep ^vdirsyncer $(CONTACTS)/requirements.txt)"
	rm -rf $@/source && mkdir $@/source && tar -xzf $@/sdist/vdirsyncer-*.tar.gz -C $@/source --strip-components 1
	install -D $(CONTACTS)/mixin.py $@/source/tests/storage/servers/sakuin/__init__.py
	touch $@

# What stands for Amazon S3.
target/moto: $(PUBLISH)/requirements.txt
	@scripts/install python3-venv
	test -d $@ || python3 -m venv $@
	$@/bin/pip install --quiet --requirement $(PUBLISH)/requirements.txt
	touch $@

# What stands for Azure Blob Storage.
target/azurite: $(PUBLISH)/azurite/package-lock.json
	@command -v npm >/dev/null || scripts/install nodejs npm
	mkdir -p $@
	cp $(PUBLISH)/azurite/package.json $(PUBLISH)/azurite/package-lock.json $@
	cd $@ && npm ci --silent --no-audit --no-fund
	touch $@

# The extension of Ruby, beside the rest of its library; libclang reads Ruby's headers.
ruby:
	@scripts/install ruby ruby-dev libclang-dev build-essential ruby-railties
	cd bindings/ruby && CARGO_TARGET_DIR=$(CURDIR)/target/ruby cargo build --locked
	cp target/ruby/debug/libsakuin_ruby.so bindings/ruby/lib/sakuin/sakuin_ruby.so

# The gem, installed into a home of its own.
test-ruby: ruby
	rm -rf target/gems bindings/ruby/*.gem
	cd bindings/ruby && gem build --silent sakuin.gemspec
	gem install --silent --local --no-document --install-dir target/gems bindings/ruby/sakuin-*.gem
	cd bindings/ruby && GEM_PATH=$(CURDIR)/target/gems:$$(gem env gempath) \
	    ruby -w -I test -e 'Dir["test/test_*.rb"].each { |file| require "./#{file}" }'
	cd bindings/ruby && ruby -r rbs -r rbs/cli \
	    -e 'RBS::CLI.new(stdout: $$stdout, stderr: $$stderr).run(%w[-r pathname -I sig validate --silent])'

bench: $(READER)/japanese.skn
	@scripts/install wrk python3
	cd bench && cargo build --release --locked
	cd bench && RAYON_NUM_THREADS=1 target/release/bench-pack $(TODAY) record/$(TODAY)-pack.jsonl
	cd bench && target/release/bench-reader $(TODAY) record/$(TODAY)-reader.jsonl $(TEXTS)
	$(MAKE) bench-cache bench-serve bench-directory bench-contacts bench-settings bench-bindings bench-publish bench-live bench-nearest bench-report

# The strategies of cached tables; some six minutes.
bench-cache:
	cd bench && cargo build --release --locked --package bench-cache
	cd bench && target/release/bench-cache $(TODAY) record/$(TODAY)-cache.jsonl

# A cached table over HTTP beside its peers. One part in runs of 5 s, into a file of its own:
#   cd bench && target/release/bench-serve 2026-11-20 hits.jsonl 5 hits
bench-serve: build
	@scripts/install nginx varnish wrk nghttp2-client openssl
	cd bench && cargo build --release --locked --package bench-serve --package bus-original
	cd bench && target/release/bench-serve $(TODAY) record/$(TODAY)-serve.jsonl

# Contacts out of PostgreSQL, beside the services that teams wrote.
bench-directory: build
	@scripts/install postgresql python3-venv wrk
	cd bench && cargo build --release --locked --package bench-directory --package contacts-original
	test -d bench/target/python || python3 -m venv bench/target/python
	bench/target/python/bin/pip install --quiet --requirement bench/directory/requirements.txt
	cd bench && target/release/bench-directory $(TODAY) record/$(TODAY)-directory.jsonl target/python/bin/python

# Contacts beside other CardDAV servers and the services that teams wrote; some seven minutes.
bench-contacts: build
	@scripts/install postgresql python3-venv git wrk
	cd bench && cargo build --release --locked --package bench-contacts --package contacts-original
	for part in python:directory contacts-python:contacts; do \
	    test -d bench/target/$${part%:*} || python3 -m venv bench/target/$${part%:*}; \
	    bench/target/$${part%:*}/bin/pip install --quiet --requirement bench/$${part#*:}/requirements.txt; done
	cd bench && target/release/bench-contacts $(TODAY) record/$(TODAY)-contacts.jsonl \
	    target/python/bin/python target/contacts-python/bin/python

# 100,000 settings read from Ruby and from Python, in every way a team tried; some four minutes.
bench-settings:
	@scripts/install ruby ruby-dev libclang-dev ruby-msgpack ruby-google-protobuf python3-venv
	cd bindings/ruby && CARGO_TARGET_DIR=$(CURDIR)/target/ruby cargo build --release --locked
	rm -rf target/ruby/lib && cp -r bindings/ruby/lib target/ruby/lib
	cp target/ruby/release/libsakuin_ruby.so target/ruby/lib/sakuin/sakuin_ruby.so
	test -d bench/target/settings-python || python3 -m venv bench/target/settings-python
	bench/target/settings-python/bin/pip install --quiet --requirement bench/settings/requirements.txt
	CARGO_TARGET_DIR=$(CURDIR)/target/python bench/target/settings-python/bin/pip install --quiet --force-reinstall --no-deps bindings/python
	ruby -I target/ruby/lib bench/settings/settings.rb $(TODAY) bench/target/settings > bench/record/$(TODAY)-settings.jsonl
	bench/target/settings-python/bin/python bench/settings/settings.py $(TODAY) bench/target/settings \
	    >> bench/record/$(TODAY)-settings.jsonl

# Scanning and packing from Python beside Rust and the command; some two minutes.
bench-bindings: $(READER)/japanese.skn
	@scripts/install python3-venv
	test -d bench/target/settings-python || python3 -m venv bench/target/settings-python
	bench/target/settings-python/bin/pip install --quiet --requirement bench/settings/requirements.txt
	CARGO_TARGET_DIR=$(CURDIR)/target/python bench/target/settings-python/bin/pip install --quiet --force-reinstall --no-deps bindings/python
	cd bench && cargo build --release --locked --package bench-bindings
	cd bench && target/release/bench-bindings $(TODAY) record/$(TODAY)-bindings.jsonl \
	    target/settings-python/bin/python bindings/story.txt

# Small files to a store that is far away, and a large one to one that is near; some five minutes, mostly of waiting.
bench-publish:
	cd bench && cargo build --release --locked --package bench-publish
	cd bench && target/release/bench-publish $(TODAY) record/$(TODAY)-publish.jsonl

# Live tables in process and over gRPC, beside the original question's servers; some ten minutes. One part into a
# file of its own:   cd bench && target/release/bench-live 2026-11-20 search.jsonl search
bench-live: build $(FEATURES_GO) $(FEATURES_PYTHON)
	cd bench && cargo build --release --locked --package bench-live --package features-original
	cd bench && target/release/bench-live $(TODAY) record/$(TODAY)-live.jsonl

# What the servers in Go and Python are generated from is one `.proto`; its compiler comes with Python's tools.
$(FEATURES_PYTHON): $(PROTO)/db.proto bench/live/python/requirements.txt
	@scripts/install python3-venv
	test -d bench/target/live-python || python3 -m venv bench/target/live-python
	bench/target/live-python/bin/pip install --quiet --requirement bench/live/python/requirements.txt
	mkdir -p $@
	$(PROTOC) --python_out=$@ --grpc_python_out=$@ $(PROTO)/db.proto
	touch $@

$(FEATURES_GO): $(FEATURES_PYTHON) $(PROTO)/db.proto bench/live/go/main.go bench/live/go/go.sum
	@command -v go >/dev/null || scripts/install golang
	cd bench/live/go && GOBIN=$(CURDIR)/bench/target/go go install tool
	$(PROTOC) --plugin=bench/target/go/protoc-gen-go --plugin=bench/target/go/protoc-gen-go-grpc \
	    --go_out=bench/live/go --go-grpc_out=bench/live/go \
	    --go_opt=module=features-original,Mdb.proto=features-original/db \
	    --go-grpc_opt=module=features-original,Mdb.proto=features-original/db $(PROTO)/db.proto
	cd bench/live/go && go build -o $(CURDIR)/$@ .

# The nearest vectors, beside others' searches; the vectors are of photographs, and some 500 MB.
bench-nearest:
	@scripts/install python3-venv
	cd bench && cargo build --release --locked --package bench-nearest
	test -d bench/target/python || python3 -m venv bench/target/python
	bench/target/python/bin/pip install --quiet --requirement bench/nearest/requirements.txt
	test -e bench/target/nearest/queries.f32 || \
	    bench/target/python/bin/python bench/nearest/vectors.py bench/target/nearest
	cd bench && target/release/bench-nearest $(TODAY) record/$(TODAY)-nearest.jsonl target/python/bin/python target/nearest

bench-report:
	cd bench && cargo run --release --locked --quiet --package bench-report > ../BENCHMARKS.md

# SQLite names two of its own tables alike, which the sanitizer would take for an error.
fuzz: export ASAN_OPTIONS := detect_odr_violation=0
fuzz:
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
	    mkdir -p "corpus/$$target"; \
	    cargo +nightly fuzz run "$$target" "corpus/$$target" $$(ls -d "seeds/$$target" 2>/dev/null) \
	        -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

fmt:
	cargo fmt
	cd bench && cargo fmt
	cd bindings/python && cargo fmt
	cd bindings/ruby && cargo fmt

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cd bindings/python && CARGO_TARGET_DIR=$(CURDIR)/target/python cargo clippy --locked -- -D warnings
	@scripts/install ruby ruby-dev libclang-dev
	cd bindings/ruby && CARGO_TARGET_DIR=$(CURDIR)/target/ruby cargo clippy --locked -- -D warnings
