# frozen_string_literal: true

module Sakuin
  # Integers from 0 to 2**64 - 1 in as few bits as they need, each readable by itself.
  #
  #     bits = Sakuin::Bits.pack([3, 1, 4])
  #     bits[1]       # => 1
  #     bits.unpack   # => [3, 1, 4]
  #     bits.to_s     # the bytes, which Bits.load takes
  class Bits
    include Enumerable

    # Packs integers. +sorted+ keeps only how much each exceeds the one before it, which none may be less than.
    def self.pack(integers, sorted: false)
      _pack(integers.to_a, sorted).freeze
    end

    # Takes the bytes of #to_s.
    def self.load(bytes)
      _load(bytes).freeze
    end

    alias length size

    # The integer at a place, counted from the end if it is negative; nil beyond.
    def [](at)
      at += size if at.negative?
      at.negative? ? nil : _at(at)
    end

    def each(&block)
      return enum_for(:each) { size } unless block

      unpack.each(&block)
      self
    end

    def ==(other)
      other.is_a?(Bits) && to_s == other.to_s
    end
    alias eql? ==

    def hash
      to_s.hash
    end

    def bytesize
      to_s.bytesize
    end

    def _dump(_level)
      to_s
    end

    def inspect
      "#<Sakuin::Bits #{size} integers, #{bytesize} bytes>"
    end

    private :_at
    private_class_method :_pack
  end
end
