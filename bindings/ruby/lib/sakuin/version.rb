# frozen_string_literal: true

module Sakuin
  VERSION = "0.1.0"
end
