# LTA's Bus Arrival v3 as one array: a service with its next three buses, codes as words.
# A bus that LTA does not know, or describes badly, is null.

def named($names): $names[.] // "Unknown";

# LTA writes numbers as strings, some with leading zeros.
def number: if type == "string" then sub("^0+(?<rest>[0-9])"; .rest) | tonumber else . end;

def bus:
  try {
    origin_code: (.OriginCode | number),
    dest_code: (.DestinationCode | number),
    est_arrival: (.EstimatedArrival | if . == "" then error("no bus") else . end),
    lat: (.Latitude | number),
    long: (.Longitude | number),
    visit_no: (.VisitNumber | number),
    load: (.Load | named({
      SEA: "SeatsAvailable", SDA: "StandingAvailable", LSD: "LimitedStanding"
    })),
    feature: (.Feature | if . == null then null else named({ WAB: "WheelChairAccessible" }) end),
    bus_type: (.Type | named({ SD: "SingleDecker", DD: "DoubleDecker", BD: "Bendy" }))
  } catch null;

[ .Services[]? | {
    service_no: .ServiceNo,
    operator: (.Operator | named({ SBST: "SBST", SMRT: "SMRT", TTS: "TTS", GAS: "GAS" })),
    next_bus: [(.NextBus, .NextBus2, .NextBus3) | bus]
  } ]
