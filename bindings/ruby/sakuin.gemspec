# frozen_string_literal: true

require "fileutils"
require_relative "lib/sakuin/version"

# A gem for the Ruby that builds it. Cargo, a C compiler and libclang make the extension, if nobody has yet.
extension = File.join(__dir__, "lib/sakuin/sakuin_ruby.so")
unless File.exist?(extension)
  Dir.chdir(__dir__) { system("cargo", "build", "--release", "--locked", exception: true) }
  folder = ENV.fetch("CARGO_TARGET_DIR", File.join(__dir__, "target"))
  FileUtils.cp(File.join(folder, "release/libsakuin_ruby.so"), extension)
end

Gem::Specification.new do |gem|
  gem.name = "sakuin"
  gem.version = Sakuin::VERSION
  gem.platform = Gem::Platform::CURRENT
  gem.summary = "Packed tables, read in place"
  gem.description = "A table in one file that is opened in microseconds, never parsed, and shared by every worker."
  gem.authors = ["The Sakuin authors"]
  gem.licenses = ["MIT", "Apache-2.0"]
  gem.required_ruby_version = "~> #{RUBY_VERSION[/\d+\.\d+/]}.0"
  gem.files = Dir["lib/**/*.{rb,so}", "sig/**/*.rbs", "README.md"]
end
