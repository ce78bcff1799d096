# frozen_string_literal: true

require_relative "helper"

# A table as Ruby expects one, and what a file may do to it.
class TestTable < Minitest::Test
  def with_cities
    in_folder do
      Sakuin.pack({ "tokyo" => { "people" => [13_960_000] }, "osaka" => nil }, "cities.skn", meta: { "year" => 2026 })
      yield Sakuin.open("cities.skn")
    end
  end

  def test_it_is_like_a_frozen_hash
    with_cities do |cities|
      assert_predicate cities, :frozen?
      assert_equal [2, :json, { "year" => 2026 }], [cities.size, cities.content, cities.meta]
      assert_equal({ "tokyo" => { "people" => [13_960_000] }, "osaka" => nil }, cities.to_h)
      assert_equal %w[osaka tokyo], cities.keys.sort
      assert_equal 13_960_000, cities.dig("tokyo", "people", 0)
      assert_nil cities.dig("kyoto", "people")
      assert_nil cities.fetch("osaka")
      assert_equal [1, "kyoto!"], [cities.fetch("kyoto", 1), cities.fetch("kyoto") { |key| "#{key}!" }]
      assert_equal [nil, nil], cities.values_at("osaka", "x")
      assert_equal 2, cities.each.size
      error = assert_raises(KeyError) { cities.fetch("tokio") }
      assert_equal [cities, "tokio"], [error.receiver, error.key]
      assert_includes error.detailed_message, "tokyo" if error.respond_to?(:detailed_message)
      [5, nil, :tokyo].each { |wrong| assert_raises(TypeError) { cities[wrong] } }
      assert_raises(TypeError) { cities.fetch_many(["tokyo", 5]) }
    end
  end

  def test_it_has_what_a_hash_has
    random = Random.new(7)
    in_folder do
      pairs = Array.new(2_000) { [random.bytes(random.rand(9)), random.bytes(random.rand(90))] }.to_h
      Sakuin.pack(pairs, "t.skn", content: :bytes)
      table = Sakuin.open("t.skn", verify: true)
      assert_equal pairs, table.to_h { |key, value| [key.b, value] }
      assert_equal pairs.values, table.fetch_many(pairs.keys)
      assert_equal Encoding::BINARY, table.first.last.encoding
    end
  end

  def test_it_is_shared_by_ractors_and_forked_workers
    with_cities do |cities|
      assert Ractor.shareable?(cities)
      child = fork { exit!(cities.dig("tokyo", "people", 0) == 13_960_000) }
      assert_predicate Process.wait2(child).last, :success?
      script = 'require "sakuin"; table = Sakuin.open("cities.skn"); Warning[:experimental] = false; ' \
               'puts Ractor.new(table) { |shared| shared.dig("tokyo", "people", 0) }.take'
      assert_equal "13960000\n", IO.popen([Gem.ruby, "-e", script], &:read)
    end
  end

  def test_a_file_that_is_replaced_is_followed_when_asked
    with_cities do |cities|
      assert_nil cities.refresh
      Sakuin.pack({ "kyoto" => 1 }, "cities.skn")
      assert_equal 1, cities.refresh["kyoto"]
      assert_nil cities["kyoto"]
    end
  end

  def test_a_file_that_is_no_table_says_why
    with_cities do |cities|
      assert_raises(Errno::ENOENT) { Sakuin.open("nothing.skn") }
      whole = File.binread(cities.path)
      { "hello" => Sakuin::NotATable, whole[0..-2] => Sakuin::Damaged }.each do |bytes, kind|
        File.binwrite("bad.skn", bytes)
        error = assert_raises(kind) { Sakuin.open("bad.skn") }
        assert_kind_of Sakuin::Error, error
        assert_includes error.message, "hint: #{error.hint}"
      end
    end
  end
end
