# frozen_string_literal: true

module Sakuin
  # The tables of a version that +sakuin pull+ or a server keeps in a folder, by their names. Followers replace what is in
  # the folder; what is open stays, and #refresh gives what is there now.
  class Repository
    # Opens the version that is in a folder.
    def self.open(path)
      _open(File.path(path)).freeze
    end

    # A table; nil if the version has none of this name.
    def [](name)
      _table(name)&.freeze
    end

    # The version that is in the folder now; nil if it is the same.
    def refresh
      _refresh&.freeze
    end

    def inspect
      "#<Sakuin::Repository #{path} version #{version}>"
    end

    private :_table, :_refresh
    private_class_method :_open
  end
end
