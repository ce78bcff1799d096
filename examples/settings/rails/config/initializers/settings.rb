# frozen_string_literal: true

require "sakuin"

# Opened once, before workers are forked: they share its pages. Packed by `sakuin pack settings.json -o config/settings.skn`.
SETTINGS = Sakuin.open(Rails.root.join("config/settings.skn"))

Rails.application.configure do
  config.x.settings = SETTINGS
  config.x.mail_retries = SETTINGS.fetch("mail.retries")
end
