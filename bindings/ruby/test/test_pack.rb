# frozen_string_literal: true

require "timeout"
require_relative "helper"

# Packing: what is refused, and that nothing is left of what was broken off.
class TestPack < Minitest::Test
  def test_what_cannot_be_packed_is_refused
    loop_of_itself = []
    loop_of_itself << loop_of_itself
    [
      [[["a", 1], [2, 1]], TypeError],
      [[%w[a x], ["b", 1]], TypeError],
      [[["a", Float::NAN]], ArgumentError],
      [[["a", loop_of_itself]], StandardError],
      [5, NoMethodError],
      [[["a", "x\xff"]], Sakuin::PackError],
    ].each do |pairs, kind|
      in_folder do
        Sakuin.pack({ "before" => "1" }, "t.skn")
        assert_raises(kind) { Sakuin.pack(pairs, "t.skn") }
        assert_equal ["t.skn"], Dir.children(".")
        assert_equal "1", Sakuin.open("t.skn")["before"]
      end
    end
  end

  def test_what_is_raised_or_interrupts_is_raised
    in_folder do
      broken = Enumerator.new do |pairs|
        pairs << %w[a 1]
        raise IOError, "mine"
      end
      assert_raises(IOError) { Sakuin.pack(broken, "t.skn") }
      endless = Enumerator.new { |pairs| loop { pairs << [rand.to_s, "1"] } }
      assert_raises(Timeout::Error) { Timeout.timeout(0.2) { Sakuin.pack(endless, "t.skn") } }
      assert_raises(Errno::ENOENT) { Sakuin.pack({ "a" => "1" }, "nowhere/t.skn") }
      assert_empty Dir.children(".")
    end
  end

  def test_a_block_is_told_how_far_it_is
    in_folder do
      pairs = Array.new(50_000) { |number| [number.to_s, "value"] }
      told = []
      Sakuin.pack(pairs, "t.skn") { |done, total| told << [done, total] }
      assert_equal [50_000, 50_000], told.last
      assert_equal told, told.sort
      assert_raises(IOError) { Sakuin.pack(pairs, "u.skn") { raise IOError, "mine" } }
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { Sakuin.pack(pairs, "u.skn") { loop { Thread.pass } } } }
      caught = catch(:mine) { Sakuin.pack(pairs, "u.skn") { throw :mine, 5 } }
      assert_equal [5, ["t.skn"]], [caught, Dir.children(".")]
    end
  end

  def test_other_threads_run_while_a_table_is_written
    in_folder do
      turns = 0
      other = Thread.new { loop { turns += 1; Thread.pass } }
      pairs = Enumerator.new { |to| 200_000.times { |number| to << [number.to_s, "value"] } }
      assert_equal 200_000, Sakuin.pack(pairs, "t.skn")[:keys]
      other.kill
      assert_operator turns, :>, 0
    end
  end

  def test_content_follows_from_the_first_value
    in_folder do
      { "x" => :text, "\xff".b => :bytes, 5 => :json, nil => :json }.each do |value, content|
        Sakuin.pack({ "a" => value }, "t.skn")
        assert_equal content, Sakuin.open("t.skn").content
      end
    end
  end
end
