-- Counts one call of a client. KEYS[1] is its window; ARGV is the limit, the length of the window
-- in microseconds, and the lifetime of the key in milliseconds. Returns whether the call gets
-- through, how many calls are left, and the microseconds until the next place frees. The rules are
-- those of package ratelimit, with the server's clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local limit, length = tonumber(ARGV[1]), tonumber(ARGV[2])

-- The window's clock does not go back, unless the server's clock was put back by more than the
-- window, because a client would be refused for too long then.
local newest = tonumber(redis.call('LINDEX', KEYS[1], -1) or 0)
if newest > now + length then
  redis.call('DEL', KEYS[1])
else
  now = math.max(now, newest)
end

-- Calls that are a full window old no longer count. They are removed in batches where there are
-- many, because Redis answers no other client meanwhile.
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

-- Redis 7.0 may have expired the key of a short window while the script ran.
local oldest = redis.call('LINDEX', KEYS[1], 0) or now
return {ok and 1 or 0, limit - used, oldest + length - now}
