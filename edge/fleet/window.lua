-- One call of a client: KEYS[1] is its window, ARGV the limit, the length of the window in microseconds, and for how many
-- milliseconds the list is to be kept. Returns whether the call is let through, what is left, and the microseconds until the next
-- place frees: as package ratelimit, by the server's clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local limit, length = tonumber(ARGV[1]), tonumber(ARGV[2])

-- The window's clock does not go back, unless the server's was put back by more than the window: nobody should wait for that.
local newest = tonumber(redis.call('LINDEX', KEYS[1], -1) or 0)
if newest > now + length then
  redis.call('DEL', KEYS[1])
else
  now = math.max(now, newest)
end

-- A full window ago: its place is free. Each call is taken out once, many at a time where there are many: nobody else is answered meanwhile.
local function gone(i)
  local at = redis.call('LINDEX', KEYS[1], i)
  return at and at + length <= now
end
while gone(0) do
  redis.call('LTRIM', KEYS[1], gone(127) and 128 or 1, -1)
end

local used = redis.call('LLEN', KEYS[1])
local ok = used < limit
if ok then
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  used = used + 1
end
return {ok and 1 or 0, limit - used, redis.call('LINDEX', KEYS[1], 0) + length - now}
