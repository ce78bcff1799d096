test:
	cargo test --workspace --locked
