# frozen_string_literal: true

module Sakuin
  # Any error of this gem. A file that is not there is Ruby's own Errno::ENOENT.
  class Error < StandardError
    # What to do about it, where there is something to do.
    attr_reader :hint

    def initialize(message = nil, hint = nil)
      super(hint ? "#{message}\nhint: #{hint}" : message)
      @hint = hint
    end
  end

  # A file that was not opened.
  class OpenError < Error; end

  # The file is something else.
  class NotATable < OpenError; end

  # The bytes are no packed integers.
  class NotBits < Error; end

  # A later release wrote the file.
  class NewerFormat < OpenError; end

  # The file was cut or changed; what is damaged is never answered from.
  class Damaged < OpenError; end

  # The table keeps fingerprints in place of its keys, and cannot list them.
  class KeysNotStored < Error; end

  # A table was not packed; the file is as it was before.
  class PackError < Error; end

  # A key came twice, and nothing says which value to keep.
  class DuplicateKey < PackError; end
end
