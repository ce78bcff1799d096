# frozen_string_literal: true

require_relative "lib/sakuin/version"

# A gem for the Ruby that builds it, with the extension that `make ruby` has put into `lib`.
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
