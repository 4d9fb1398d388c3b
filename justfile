# Formatting, lints and the tests that need a Rust toolchain alone.
verify:
    cargo fmt --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace

# Tests of one crate: the quickest check after an edit. `just t location`, `just t endpoints openapi`.
t CRATE *FILTER:
    cargo test -p {{CRATE}} {{FILTER}}

# One suite of the crate `tests`, with the programs it needs. `just suite kill9`.
suite NAME:
    PRACTICE_SYNC_EXTERNAL=all cargo test --workspace --test suites {{NAME}}::

# All tests, with those that need Node.js, Python or Chromium (tests/README.md): all of these, or those that are named.
external SUITES="all":
    PRACTICE_SYNC_EXTERNAL={{SUITES}} cargo test --workspace

# Formats, and applies what clippy can repair.
fix:
    cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
    cargo fmt

# Licences, double versions and registries of what is depended on (`cargo install cargo-deny --locked`).
deny:
    cargo deny --locked check -D unmatched-skip -D unnecessary-skip licenses bans sources

# A practice with two locations; one booking walked through the API, then it keeps serving.
demo *OPTIONS:
    cargo run -- demo {{OPTIONS}}

# The binary, which runs the demo without the checkout, and in `adapters` next to it an adapter for each EHR.
release:
    cargo build --profile dist -p api --features bundled
    for adapter in fhir gnuhealth opendental gated-cloud; do \
        ./target/dist/practice-sync adapter build adapters/$adapter --out target/dist/adapters || exit 1; \
    done

# Figures with their aims: all sections, or those that are named.
bench *SECTIONS:
    cargo run --release -p tests --bin bench -- {{SECTIONS}}
