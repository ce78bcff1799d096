# frozen_string_literal: true

require "minitest/autorun"
require "fileutils"
require "tmpdir"
require "sakuin"

# Runs a block in a folder of its own.
def in_folder(&block)
  Dir.mktmpdir { |folder| Dir.chdir(folder, &block) }
end
