# frozen_string_literal: true

module Sakuin
  # A packed table: keys lead to values, and nothing of it changes. Keys are Strings; values are Strings, or what JSON
  # says, parsed when it is asked for.
  class Table
    include Enumerable

    alias length size
    alias has_key? key?
    alias include? key?
    alias member? key?

    # The value of a key; without it the default, what the block says, or a KeyError that knows similar keys.
    def fetch(key, *default)
      value = self[key]
      return value unless value.nil? && !key?(key)
      return yield(key) if block_given?
      return default.first unless default.empty?

      raise KeyError.new("key not found: #{key.inspect}", receiver: self, key: key)
    end

    # What lies deeper in a value of JSON: +settings.dig("mail", "from", 0)+.
    def dig(key, *rest)
      value = self[key]
      rest.empty? || value.nil? ? value : value.dig(*rest)
    end

    # The first values of many keys, in their order; nil for those that are absent. Quicker than one after another.
    def fetch_many(keys)
      _many(keys.to_a)
    end

    def values_at(*keys)
      _many(keys)
    end

    # Every key and its first value, in the order of the file, which is no order of the keys.
    def each(&block)
      return enum_for(:each) { size } unless block

      _each(block)
      self
    end
    alias each_pair each

    def keys
      map(&:first)
    end

    def empty?
      size.zero?
    end

    def inspect
      "#<Sakuin::Table #{path} #{size} keys, #{content}>"
    end

    private :_many, :_each
  end
end
