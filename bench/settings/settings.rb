# frozen_string_literal: true

# The shoot-out of a team that read 100,000 settings from Ruby: JSON, MessagePack and protobuf, each as a hash, a sorted
# array and a table with a perfect hash ("compress, hash and displace"), and the packed table beside them. Prints lines of
# samples.
#
#   ruby settings.rb DATE FOLDER       with Debian's ruby-msgpack and ruby-google-protobuf, and the gem of this repository

require "digest"
require "etc"
require "fileutils"
require "google/protobuf"
require "google/protobuf/descriptor_pb"
require "json"
require "msgpack"
require "sakuin"

COUNT = 100_000
ROUNDS = 7
WORKERS = 8

# Keys and values of base-36 letters, from a fixed seed.
def settings
  random = Random.new(36)
  letters = [*"0".."9", *"a".."z"]
  word = ->(sizes) { Array.new(random.rand(sizes)) { letters[random.rand(36)] }.join }
  Array.new(COUNT) { [word.(12..24), word.(12..36)] }.to_h
end

# Compress, hash and displace: a seed for each bucket that puts its keys into slots nobody else has.
module Chd
  module_function

  def hash(key, seed)
    Digest::MD5.digest("#{seed}:#{key}").unpack1("L")
  end

  def build(pairs)
    buckets = pairs.group_by { |key, _| hash(key, 0) % (pairs.size / 4) }
    seeds = Array.new(pairs.size / 4, 0)
    slots = Array.new(pairs.size)
    buckets.sort_by { |_, keys| -keys.size }.each do |bucket, keys|
      seed = (1..).find do |try|
        places = keys.map { |key, _| hash(key, try) % slots.size }
        places.uniq.size == places.size && places.none? { |place| slots[place] }
      end
      seeds[bucket] = seed
      keys.each { |pair| slots[hash(pair.first, seed) % slots.size] = pair }
    end
    [seeds, slots]
  end

  def place(key, seeds, count)
    hash(key, seeds[hash(key, 0) % seeds.size]) % count
  end
end

def field(name, number, type, label, type_name = nil)
  Google::Protobuf::FieldDescriptorProto.new(name:, number:, type:, label:, **(type_name ? { type_name: } : {}))
end

def message(name, *fields, **more)
  Google::Protobuf::DescriptorProto.new(name:, field: fields, **more)
end

entry = message(
  "EntriesEntry",
  field("key", 1, :TYPE_STRING, :LABEL_OPTIONAL), field("value", 2, :TYPE_STRING, :LABEL_OPTIONAL),
  options: Google::Protobuf::MessageOptions.new(map_entry: true)
)
file = Google::Protobuf::FileDescriptorProto.new(
  name: "settings.proto", syntax: "proto3", package: "settings",
  message_type: [
    message("Table", field("entries", 1, :TYPE_MESSAGE, :LABEL_REPEATED, ".settings.Table.EntriesEntry"), nested_type: [entry]),
    message("Pair", field("key", 1, :TYPE_STRING, :LABEL_OPTIONAL), field("value", 2, :TYPE_STRING, :LABEL_OPTIONAL)),
    message("Pairs", field("pairs", 1, :TYPE_MESSAGE, :LABEL_REPEATED, ".settings.Pair")),
    message("Chd", field("seeds", 1, :TYPE_UINT32, :LABEL_REPEATED), field("slots", 2, :TYPE_MESSAGE, :LABEL_REPEATED, ".settings.Pair"))
  ]
)
pool = Google::Protobuf::DescriptorPool.generated_pool
pool.add_serialized_file(Google::Protobuf::FileDescriptorProto.encode(file))
TABLE, PAIR, PAIRS, CHD = %w[Table Pair Pairs Chd].map { |name| pool.lookup("settings.#{name}").msgclass }

# A way to keep settings: what is written, how it is read, and how one is got.
Way = Struct.new(:name, :write, :read, :get)

bsearch = lambda do |pairs, key|
  pair = pairs.bsearch { |other, _| key <=> other }
  pair && pair[1]
end
by_chd = lambda do |(seeds, slots), key|
  pair = slots[Chd.place(key, seeds, slots.size)]
  pair[1] if pair[0] == key
end
FORMATS = {
  "json" => [JSON.method(:generate), JSON.method(:parse)],
  "msgpack" => [MessagePack.method(:pack), MessagePack.method(:unpack)],
}.freeze
ways = FORMATS.flat_map do |format, (write, read)|
  [
    Way.new("#{format} + hash", ->(all, _) { write.(all) }, read, ->(table, key) { table[key] }),
    Way.new("#{format} + array", ->(all, _) { write.(all.sort) }, read, bsearch),
    Way.new("#{format} + chd", ->(_, chd) { write.(chd) }, read, by_chd),
  ]
end
pair = ->((key, value)) { PAIR.new(key:, value:) }
ways += [
  Way.new("protobuf + hash", ->(all, _) { TABLE.encode(TABLE.new(entries: all)) }, ->(bytes) { TABLE.decode(bytes).entries },
          ->(table, key) { table[key] }),
  Way.new("protobuf + array", ->(all, _) { PAIRS.encode(PAIRS.new(pairs: all.sort.map(&pair))) }, ->(bytes) { PAIRS.decode(bytes).pairs },
          lambda { |pairs, key|
            at = (0...pairs.size).bsearch { |place| pairs[place].key >= key }
            found = at && pairs[at]
            found.value if found && found.key == key
          }),
  Way.new("protobuf + chd", ->(_, (seeds, slots)) { CHD.encode(CHD.new(seeds:, slots: slots.map(&pair))) }, CHD.method(:decode),
          lambda { |table, key|
            found = table.slots[Chd.place(key, table.seeds, table.slots.size)]
            found.value if found.key == key
          }),
]

date, folder = ARGV
FileUtils.mkdir_p(folder)
all = settings
chd = Chd.build(all)
ways.each { |way| File.binwrite("#{folder}/#{way.name}", way.write.(all, chd)) }
Sakuin.pack(all, "#{folder}/sakuin")
packed = Way.new("sakuin", nil, nil, ->(table, key) { table[key] })
subjects = [packed, *ways]
open_one = lambda do |way|
  path = "#{folder}/#{way.name}"
  way.read ? way.read.(File.binread(path)) : Sakuin.open(path)
end

processor = File.foreach("/proc/cpuinfo").find { |line| line.start_with?("model name") }.to_s.split(": ").last.to_s.strip
COMMON = { bench: "settings", machine: "#{processor}, #{Etc.nprocessors} cores", date:, commit: `git rev-parse --short HEAD`.strip }.freeze
say = lambda do |row, unit, subject, samples|
  $stderr.puts "#{row}: #{subject}: #{samples.sort[samples.size / 2].round(3)} #{unit}"
  puts JSON.generate({ row:, unit:, subject:, samples: }.merge(COMMON))
end
target = ->(row, more) { puts JSON.generate({ bench: "settings", row: }.merge(more)) }
cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_microsecond) }

FIRST = "Ruby: open or parse 100,000 settings, and get one"
GET = "Ruby: get one of 100,000 settings"
FILE = "100,000 settings: the file"
MEMORY = "Ruby: memory of 8 forked workers, shared pages counted once"

keys = all.keys.shuffle(random: Random.new(7)).map(&:dup)
first = Hash.new { |hash, name| hash[name] = [] }
get = Hash.new { |hash, name| hash[name] = [] }
ROUNDS.times do
  subjects.each do |way|
    GC.start
    GC.disable
    begun = cpu.()
    times = way.read ? 1 : 100
    table = nil
    times.times { table = open_one.(way) and way.get.(table, keys.first) }
    first[way.name] << (cpu.() - begun) / times
    asked = way.name.include?("hash") || !way.read ? keys : keys.first(10_000)
    raise way.name unless asked.first(100).all? { |key| way.get.(table, key) == all[key] }

    begun = cpu.()
    asked.each { |key| way.get.(table, key) }
    get[way.name] << (cpu.() - begun) * 1e3 / asked.size
    GC.enable
  end
end
subjects.each { |way| say.(FIRST, "µs", way.name, first[way.name]) }
# On a laptop, as its author told.
{ "json + hash" => 44_300, "msgpack + hash" => 37_000, "protobuf + hash" => 48_300, "protobuf + chd" => 6_460 }.each do |name, told|
  say.(FIRST, "µs", "#{name}, published", [told])
end
subjects.each { |way| say.(GET, "ns", way.name, get[way.name]) }
{ "a hash" => 236, "chd" => 2_030 }.each { |name, told| say.(GET, "ns", "#{name}, published", [told]) }
subjects.each { |way| say.(FILE, "bytes", way.name, [File.size("#{folder}/#{way.name}")]) }

# Megabytes of eight workers that each have the settings; of pages that several share, each counts its part.
pss = lambda do |way|
  children = Array.new(WORKERS) do
    told, tell = IO.pipe
    stop, stopped = IO.pipe
    id = fork do
      [told, stopped].each(&:close)
      table = open_one.(way) if way
      # What getting leaves behind is no part of the table: it is collected before there is much of it.
      keys.each_slice(1_000) do |some|
        some.each { |key| way.get.(table, key) } if way
        GC.start(full_mark: false)
      end
      GC.start
      tell.write("ready")
      tell.close
      stop.read
      exit!
    end
    [tell, stop].each(&:close)
    [id, told, stopped]
  end
  children.each { |_, told,| told.read }
  sizes = children.map { |id,| File.read("/proc/#{id}/smaps_rollup")[/^Pss: +(\d+)/, 1].to_i }
  children.each { |_, _, stopped| stopped.close }
  children.each { |id,| Process.wait(id) }
  sizes.sum / 1e3
end
memory = [packed, ways.first, ways.last].to_h { |way| [way.name, []] }
3.times do
  nothing = pss.(nil)
  [packed, ways.first, ways.last].each { |way| memory[way.name] << (pss.(way) - nothing) }
end
memory.each { |name, samples| say.(MEMORY, "MB", name, samples) }

target.(FIRST, target: 0.01, ratio_to: "protobuf + chd")
target.(FIRST, target: 60)
target.(GET, target: 1.5, ratio_to: "json + hash")
target.(MEMORY, target: 0.2, ratio_to: "json + hash")
