package redislimit

import "github.com/gomodule/redigo/redis"

// The scripts run on Redis' own clock, in microseconds, so that the nodes' clocks do not matter.
//
// A key's admissions are a list of times, oldest first: about 11 bytes each, where a sorted set
// takes some hundred beyond 128 members, and needs a distinct member for each of two admissions in
// the same microsecond.

// luaClock sets now. Tests put another clock before the same scripts.
const luaClock = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
`

// luaAdmit decides on one request: KEYS are its key and, if it has one, its group; ARGV is how long
// an admission holds its slot in microseconds, the keys' life in milliseconds, how many slots it
// takes together, how many it needs if it is refused and made again, and the limit of each. It
// returns whether it was admitted by all of them, which is when it takes the slots of each; then, for
// each, how many admissions there are with it and after how many microseconds one more slot frees, or
// of a refused one all that it needs (0 while they are free).
//
// Times that lie ahead of the clock, which then was set back, count as of now: their slots are held
// for longer than a minute, but not until the clock has caught up.
//
// The expired ones are counted by doubling steps, then halving ones: nothing in the common case
// that the oldest is alive, and some twenty looks when five hundred expire at once.
const luaAdmit = `
local held, slots, whole = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
local function text(at) return string.format('%.0f', at) end
local function slide(key)
	local n = redis.call('LLEN', key)
	for i = 1, n do
		if tonumber(redis.call('LINDEX', key, -i)) <= now then break end
		redis.call('LSET', key, -i, text(now))
	end
	local gone, step = 0, 1
	local function expired(count)
		return count <= n and redis.call('LINDEX', key, count - 1) + held <= now
	end
	while expired(gone + step) do
		gone = gone + step
		step = step * 2
	end
	while step > 1 do
		step = step / 2
		if expired(gone + step) then gone = gone + step end
	end
	if gone > 0 then redis.call('LTRIM', key, gone, -1) end
	return n - gone
end
local counts, admitted = {}, 1
for i, key in ipairs(KEYS) do
	counts[i] = slide(key)
	if counts[i] + slots > tonumber(ARGV[4 + i]) then admitted = 0 end
end
local reply = {admitted}
for i, key in ipairs(KEYS) do
	local n, limit, wait, need = counts[i], tonumber(ARGV[4 + i]), 0, whole
	if admitted == 1 then
		for _ = 1, slots do redis.call('RPUSH', key, text(now)) end
		redis.call('PEXPIRE', key, ARGV[2])
		n, need = n + slots, 1
	end
	local last = math.min(n + need - limit, n)
	if last > 0 then wait = redis.call('LINDEX', key, last - 1) + held - now end
	reply[#reply + 1] = n
	reply[#reply + 1] = wait
end
return reply
`

// luaBeat notes that a node is alive: ARGV is its name, for how long a beat proves life, and for
// how long it is kept, both in microseconds. It returns the node's previous beat, 0 if there is
// none, how many nodes are alive, and now.
const luaBeat = `
local last = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[3]))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[3] / 1000))
return {tonumber(last or 0), redis.call('ZCOUNT', KEYS[1], string.format('%.0f', now - ARGV[2]), '+inf'), now}
`

var (
	admitScript = redis.NewScript(-1, luaClock+luaAdmit) // the number of keys comes first
	beatScript  = redis.NewScript(1, luaClock+luaBeat)
	leaveScript = redis.NewScript(1, "return {redis.call('ZREM', KEYS[1], ARGV[1])}")
)
