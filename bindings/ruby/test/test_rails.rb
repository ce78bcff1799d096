# frozen_string_literal: true

require_relative "helper"

# The initializer of the example, in an application of Rails that is booted by itself.
class TestRails < Minitest::Test
  EXAMPLE = File.join(__dir__, "../../../examples/settings")

  BOOT = <<~RUBY
    require "logger"
    require "rails"
    class Application < Rails::Application
      config.root = Dir.pwd
      config.eager_load = false
      config.logger = Logger.new(nil)
    end
    Application.initialize!
    readers = Array.new(2) { fork { exit!(SETTINGS["site.name"] == "Bus times" ? 0 : 1) } }
    fine = readers.all? { |reader| Process.wait2(reader).last.success? }
    puts [fine, SETTINGS.frozen?, Rails.configuration.x.mail_retries, Rails.configuration.x.settings["debug"]].inspect
  RUBY

  def test_the_initializer_opens_settings_before_workers_are_forked
    in_folder do
      FileUtils.cp_r("#{EXAMPLE}/rails/config", ".")
      Sakuin.pack(JSON.parse(File.read("#{EXAMPLE}/settings.json")), "config/settings.skn", content: :json)
      told = IO.popen([Gem.ruby, "-e", BOOT], err: %i[child out], &:read)
      assert_equal "[true, true, 3, false]\n", told
    end
  end
end
