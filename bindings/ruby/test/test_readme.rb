# frozen_string_literal: true

require_relative "helper"

# The example of the README says what is so.
class TestReadme < Minitest::Test
  def test_the_example
    readme = File.read(File.join(__dir__, "../README.md"))
    lines = readme[/```ruby\n(.*?)```/m, 1].lines.map(&:strip).reject(&:empty?)
    in_folder do
      scope = binding
      checked = lines.count do |line|
        code, expected = line.split(/ +# => /)
        found = scope.eval(code)
        assert_equal expected, found.inspect.gsub(/" => /, '"=>'), code if expected
        expected
      end
      assert_operator checked, :>, 4
    end
  end
end
