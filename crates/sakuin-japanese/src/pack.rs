//! Packing dictionary files into one file with one trie.
