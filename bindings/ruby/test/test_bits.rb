# frozen_string_literal: true

require_relative "helper"

# Packed integers as Ruby expects an array of them.
class TestBits < Minitest::Test
  def test_they_are_like_a_frozen_array
    random = Random.new(5)
    [0, 1, 127, 128, 129, 1000].each do |count|
      [1, 7, 31, 32, 33, 63, 64].each do |width|
        integers = Array.new(count) { random.rand(2**width) }
        [[integers, false], [integers.sort, true]].each do |array, sorted|
          bits = Sakuin::Bits.pack(array, sorted:)
          assert_equal array, bits.unpack
          assert_equal array, bits.to_a
          assert_equal array, Array.new(count) { |at| bits[at] }
          assert_equal [array.last, nil, nil], [bits[-1], bits[count], bits[-count - 1]]
          assert_equal bits, Sakuin::Bits.load(bits.to_s)
          assert_equal bits, Marshal.load(Marshal.dump(bits))
          assert Ractor.shareable?(bits)
        end
      end
    end
  end

  def test_they_are_small
    assert_operator Sakuin::Bits.pack((0...10_000).map { |at| at % 16 }).bytesize, :<, 5_400
    assert_operator Sakuin::Bits.pack((0...10_000).map { |at| at * 3 }, sorted: true).bytesize, :<, 4_000
  end

  def test_what_cannot_be_packed_is_refused
    [[-1], [2**64], [-(2**70)], [1.5], ["1"], [nil]].each do |integers|
      error = assert_raises(RangeError) { Sakuin::Bits.pack([7] + integers) }
      assert_includes error.message, "integer 1 is #{integers.first.inspect}"
    end
    assert_raises(ArgumentError) { Sakuin::Bits.pack([2, 1], sorted: true) }
    good = Sakuin::Bits.pack([1, 2, 3]).to_s
    assert_raises(Sakuin::Damaged) { Sakuin::Bits.load(good[0..-2]) }
    assert_raises(Sakuin::NotBits) { Sakuin::Bits.load("GIF89a") }
    assert_raises(TypeError) { Sakuin::Bits.load(5) }
  end
end
