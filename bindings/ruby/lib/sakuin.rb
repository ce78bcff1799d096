# frozen_string_literal: true

# Packed tables, read in place.
#
#     Sakuin.pack({ "tokyo" => 13_960_000, "osaka" => 2_753_000 }, "cities.skn")
#     cities = Sakuin.open("cities.skn")
#     cities["osaka"]          # => 2753000
#
# A table is frozen: one is shared by Ractors, by threads and by forked workers.

require "json"

require_relative "sakuin/errors"
require_relative "sakuin/sakuin_ruby"
require_relative "sakuin/bits"
require_relative "sakuin/repository"
require_relative "sakuin/table"
require_relative "sakuin/version"

module Sakuin
  # Opens a packed table. What it costs does not depend on its size.
  def self.open(path, verify: false)
    Table._open(File.path(path), verify).freeze
  end

  # Packs pairs of keys and values, or a Hash, into a file, which is replaced in one step; tells what it packed.
  #
  # Without +content+ the first value says what all are: a String makes +:text+, one of bytes +:bytes+, all else +:json+.
  # +duplicates+ says what a key that comes again does: +:error+, +:first+, +:last+, or +:keep+ for several values a key.
  # A block is told how many entries are done, and how many there are, while the file is written.
  def self.pack(pairs, path, content: nil, duplicates: :error, meta: nil, &progress)
    builder = nil
    pairs.each do |key, value|
      raise TypeError, "keys are String, not #{key.class}" unless key.is_a?(String)

      content ||= content_of(value)
      builder ||= Builder.new(content.to_s, duplicates.to_s)
      builder.add(key, written(key, value, content))
    end
    builder ||= Builder.new((content || :text).to_s, duplicates.to_s)
    builder.meta(JSON.generate(meta)) unless meta.nil?
    builder.write(File.path(path), progress)
  end

  def self.content_of(value)
    return :json unless value.is_a?(String)

    value.encoding == Encoding::BINARY ? :bytes : :text
  end

  def self.written(key, value, content)
    return JSON.generate(value) if content.to_sym == :json
    return value if value.is_a?(String)

    raise TypeError, "the value of #{key.inspect} is #{value.class}, and those of this table are String"
  rescue JSON::GeneratorError => error
    raise ArgumentError, "the value of #{key.inspect} is no JSON: #{error.message}"
  end

  private_class_method :content_of, :written
  private_constant :Builder
end
