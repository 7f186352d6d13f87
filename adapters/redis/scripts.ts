/**
 * An event is one hash under one key, so that a cluster keeps it in one place: `token` and `until` while somebody holds it, one
 * field with a dot before it for each finish mark, or `done`. The key's own expiry forgets it. Each script is atomic, reads the
 * server's clock, and does the same again when it is sent again with the same token.
 */

/** Milliseconds of the server, as the entry keeps them: Lua would write a large number as 1.7e+12. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function at(ms) return string.format('%.0f', ms) end
`

const ENTRY = `${NOW}
local entry = redis.call('HMGET', KEYS[1], 'done', 'token', 'until')
local held = entry[2] and entry[2] ~= ARGV[1] and tonumber(entry[3]) > now
`

/** ARGV: token, lease, retention. Gives 0 busy, 1 claimed, 2 done, or claimed with the list of its marks. */
export const CLAIM = `${NOW}
local fields = redis.call('HGETALL', KEYS[1])
local token, ends, marks = nil, 0, {}
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if name == 'done' then return 2 end
  if name == 'token' then token = value
  elseif name == 'until' then ends = tonumber(value)
  else marks[#marks + 1] = string.sub(name, 2) end
end
if token and token ~= ARGV[1] and ends > now then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'until', at(now + ARGV[2]))
if #marks == 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
redis.call('PEXPIRE', KEYS[1], at(ARGV[2] + ARGV[3]))
return marks
`

/** ARGV: token, retention, lease, marks. Gives 1 or 0. */
export const RENEW = `${ENTRY}
if held or entry[1] then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'until', at(now + ARGV[3]))
for i = 4, #ARGV do redis.call('HSET', KEYS[1], '.' .. ARGV[i], '') end
local marked = redis.call('HLEN', KEYS[1]) > 2
redis.call('PEXPIRE', KEYS[1], marked and at(ARGV[2] + ARGV[3]) or ARGV[3])
return 1
`

/** ARGV: token, retention. Gives 1 or 0. */
export const COMPLETE = `${ENTRY}
if held then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'done', '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

/** ARGV: token, retention, marks. Gives 1 or 0. */
export const RELEASE = `${ENTRY}
if held then return 0 end
if entry[1] then return 1 end
redis.call('HDEL', KEYS[1], 'token', 'until')
for i = 3, #ARGV do redis.call('HSET', KEYS[1], '.' .. ARGV[i], '') end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

/** What the server does with what it is told. Unlike CONFIG, INFO may be asked from a script, and so by any client in one way. */
export const SETTINGS = `
return { redis.call('INFO', 'persistence'), redis.call('INFO', 'memory') }
`
