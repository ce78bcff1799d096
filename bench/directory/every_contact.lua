-- Asks for all ten thousand contacts, in an order that jumps about.
local number = 0
request = function()
  number = (number + 7919) % 10000
  return wrk.format("GET", "/contacts/" .. (number + 1))
end
