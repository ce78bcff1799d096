# frozen_string_literal: true

require_relative "helper"

# The cases that every binding runs, out of one file.
class TestCases < Minitest::Test
  JSON.parse(File.read(File.join(__dir__, "../../cases.json"))).each do |one|
    define_method("test_#{one['name']}") do
      in_folder do
        pack = lambda do
          Sakuin.pack(one["pairs"], "t.skn", content: one["content"], duplicates: one["duplicates"] || :error)
        end
        if one["error"]
          error = assert_raises(Sakuin.const_get(one["error"]), &pack)
          assert_includes error.message, one["says"]
          assert_empty Dir.children(".")
          next
        end
        assert_equal one["pairs"].map(&:first).uniq.size, pack.call[:keys]
        table = Sakuin.open("t.skn")
        one["get"].each do |key, value|
          value.nil? ? assert_nil(table[key]) : assert_equal(value, table[key])
          assert_equal !value.nil?, table.key?(key)
        end
        assert_equal one["get"].map(&:last), table.fetch_many(one["get"].map(&:first))
        (one["all"] || []).each { |key, values| assert_equal values, table.all(key) }
      end
    end
  end
end
