# frozen_string_literal: true

require_relative "helper"

# The examples of the README say what is so.
class TestReadme < Minitest::Test
  def test_the_examples
    readme = File.read(File.join(__dir__, "../README.md"))
    lines = readme.scan(/```ruby\n(.*?)```/m).join.lines.map(&:strip).reject(&:empty?)
    in_folder do
      scope = binding
      checked = lines.count do |line|
        code, expected = line.split(/ +# => /)
        found = scope.eval(code)
        assert_equal expected, found.inspect.gsub(/" => /, '"=>'), code if expected
        expected
      end
      assert_operator checked, :>, 7
    end
  end
end
