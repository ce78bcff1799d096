# frozen_string_literal: true

require_relative "helper"

# A folder that is followed into, read beside its follower.
class TestRepository < Minitest::Test
  COMMAND = ENV.fetch("SAKUIN", File.join(__dir__, "../../../target/debug/sakuin"))

  def publish(value)
    %w[words names].each { |name| Sakuin.pack({ "a" => value, "b" => value }, "#{name}.skn") }
    store = "file://#{Dir.pwd}/bucket"
    quiet = { out: File::NULL, err: File::NULL, exception: true }
    system(COMMAND, "publish", store, "words=words.skn", "names=names.skn", **quiet)
    system(COMMAND, "pull", store, "shop", **quiet)
  end

  def test_the_tables_of_a_version_are_read
    in_folder do
      assert_raises(Errno::ENOENT) { Sakuin::Repository.open("shop") }
      publish("one")
      shop = Sakuin::Repository.open("shop")
      assert Ractor.shareable?(shop)
      assert_equal [1, %w[names words], "one", nil], [shop.version, shop.keys, shop["words"]["a"], shop["other"]]
      assert_nil shop.refresh
      %w[two three].each { |value| publish(value) }
      newer = shop.refresh
      assert_equal [3, "three", "one"], [newer.version, newer["names"]["a"], shop["names"]["a"]]
      File.write("shop/state.json", "{")
      assert_raises(Sakuin::Damaged) { Sakuin::Repository.open("shop") }
    end
  end
end
