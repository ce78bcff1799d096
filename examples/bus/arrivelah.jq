# LTA's Bus Arrival v3 in the shape most apps read: codes stay as they are, times also as milliseconds from now.

def number: if type == "string" then tonumber else . end;

def bus:
  if (.EstimatedArrival // "") == "" then null else {
    time: .EstimatedArrival,
    duration_ms: (((.EstimatedArrival | fromdateiso8601) - $now) * 1000 | floor),
    lat: (.Latitude | number),
    lng: (.Longitude | number),
    load: .Load,
    feature: .Feature,
    type: .Type,
    visit_number: (.VisitNumber | number),
    origin_code: .OriginCode,
    destination_code: .DestinationCode,
    monitored: (.Monitored | number)
  } end;

{
  services: [ .Services[]? | {
    no: .ServiceNo,
    operator: .Operator,
    next: (.NextBus | bus),
    subsequent: (.NextBus2 | bus),
    next2: (.NextBus2 | bus),
    next3: (.NextBus3 | bus)
  } ]
}
