package redis

import goredis "github.com/redis/go-redis/v9"

// scripts are what must happen on the server in one step. Times are the
// server's, in microseconds; numbers stay below 2^53, where Lua counts exactly.
type scripts struct{ lock, extend, unlock, take, probe *goredis.Script }

// now begins the scripts that look at the time.
const now = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function text(n) return string.format('%.0f', n) end
`

// hold writes a lock down. It is remembered for an hour beyond its end, so that
// fences keep rising when the server's clock is set back meanwhile.
const hold = `
local function hold(fence, lasts)
	redis.call('HSET', KEYS[1], 'fence', text(fence), 'until', text(now + lasts))
	redis.call('PEXPIRE', KEYS[1], text(math.ceil(lasts / 1000) + 3600000))
end
local fence = tonumber(redis.call('HGET', KEYS[1], 'fence') or 0)
local ends = tonumber(redis.call('HGET', KEYS[1], 'until') or 0)
`

func newScripts() scripts {
	return scripts{
		// The time in a fence keeps it rising when the server has lost its memory.
		lock: goredis.NewScript(now + hold + `
if ends > now then return 0 end
fence = math.max(fence + 1, now)
hold(fence, tonumber(ARGV[1]))
return fence`),
		extend: goredis.NewScript(now + hold + `
if fence ~= tonumber(ARGV[1]) or ends <= now then return 0 end
hold(fence, tonumber(ARGV[2]))
return 1`),
		unlock: goredis.NewScript(now + hold + `
if fence == tonumber(ARGV[1]) then hold(fence, 0) end
return 0`),
		// A bucket is the time at which it is full again. One further off than an
		// empty bucket needs comes from a clock that was set back.
		take: goredis.NewScript(now + `
local every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = tonumber(redis.call('GET', KEYS[1]) or 0)
full = math.min(math.max(full, now), now + every * burst)
local wait = full - now - every * (burst - 1)
if wait > 0 then return wait end
full = full + every
redis.call('SET', KEYS[1], text(full), 'PX', text(math.ceil((full - now) / 1000)))
return 0`),
		// A server that is full, loading or a replica can be reached and is no use.
		probe: goredis.NewScript(`
redis.call('SET', KEYS[1], '', 'PX', 1000)
return redis.call('TIME')[1]`),
	}
}
