import { createHash } from 'node:crypto'

/** A script for a client: it is sent by its digest, and whole if the server does not know the digest. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** The scripts of a store. */
export type Scripts = ReturnType<typeof makeScripts>

/**
 * An event is one hash under one key, so that a cluster keeps it in one place: `token` while a process holds it, one field with a dot
 * before it for each finish mark, or `done`, which has what `complete` was given as JSON. A claim without marks ends by the key's own expiry; one with marks also has `until`, since the
 * marks stay when it ends. A position is text under its own key. The key's expiry removes what is left. Each script is atomic, uses the
 * server's clock, and has the same effect if it is sent again with the same token. The scripts contain the retention, so that calls do not
 * pass it. KEYS: the event, and positions.
 */
export function makeScripts(retentionMs: number) {
  const advance = (first: number) => `
      for i = ${first}, #KEYS do
        local at = ARGV[#ARGV - #KEYS + i]
        local known = redis.call('GET', KEYS[i])
        if not known or tonumber(known) <= tonumber(at) then
          redis.call('DEL', KEYS[i]) -- without memory left, what follows is let through behind this only
          redis.call('SET', KEYS[i], at, 'PX', ${retentionMs})
        end
      end`
  const hold = (hasMarks: string) => `
      local kept = ARGV[2]
      if ${hasMarks} then
        redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
        kept = kept + ${retentionMs}
      end
      redis.call('PEXPIRE', KEYS[1], kept)`
  return {
    /** ARGV: token, lease. Returns 0 busy, 1 or a text done, or the list of marks of a claim, within a list with that of the positions if any are asked. */
    claim: toScript(`
      local fields = redis.call('HGETALL', KEYS[1])
      local token, ends, marks = nil, nil, {}
      for i = 1, #fields, 2 do
        local name, value = fields[i], fields[i + 1]
        if name == 'done' then return value == '' and 1 or value
        elseif name == 'token' then token = value
        elseif name == 'until' then ends = tonumber(value)
        else marks[#marks + 1] = string.sub(name, 2) end
      end
      ${NOW}
      if token and token ~= ARGV[1] and (not ends or ends > now) then return 0 end
      redis.call('HSET', KEYS[1], 'token', ARGV[1])
      ${hold('#marks > 0')}
      if #KEYS == 1 then return marks end
      return { marks, redis.call('MGET', unpack(KEYS, 2)) }`),
    /** ARGV: token, lease, marks, and the time of each position. Returns 1 or 0. */
    renew: toScript(`${advance(2)}
      ${ENTRY}
      if held or entry[1] then return 0 end
      redis.call('PEXPIRE', KEYS[1], ARGV[2]) -- without memory left, what follows is let through behind this only
      redis.call('HSET', KEYS[1], 'token', ARGV[1])
      for i = 3, #ARGV - #KEYS + 1 do redis.call('HSET', KEYS[1], '.' .. ARGV[i], '') end
      ${hold("redis.call('HLEN', KEYS[1]) > 1")}
      return 1`),
    /** ARGV: token, text of `done`, times. Returns 1 or 0. */
    complete: toScript(`${advance(2)}
      ${ENTRY}
      if held then return 0 end
      redis.call('DEL', KEYS[1])
      redis.call('HSET', KEYS[1], 'done', ARGV[2])
      redis.call('PEXPIRE', KEYS[1], ${retentionMs})
      return 1`),
    /** ARGV: token, marks, times. Returns 1 or 0. */
    release: toScript(`${advance(2)}
      ${ENTRY}
      if held then return 0 end
      if entry[1] then return 1 end
      redis.call('HDEL', KEYS[1], 'token', 'until')
      for i = 2, #ARGV - #KEYS + 1 do redis.call('HSET', KEYS[1], '.' .. ARGV[i], '') end
      redis.call('PEXPIRE', KEYS[1], ${retentionMs})
      return 1`),
    /** Returns 1 or 0. Without `until`, the key's own expiry ends a claim. */
    forget: toScript(`${NOW}
      local entry = redis.call('HMGET', KEYS[1], 'token', 'until')
      if entry[1] and (not entry[2] or tonumber(entry[2]) > now) then return 0 end
      return redis.call('DEL', KEYS[1])`),
    /** KEYS: one position. Returns it as text, or nothing. */
    position: toScript(`return redis.call('GET', KEYS[1])`),
    /** KEYS: one position. ARGV: its time. */
    advance: toScript(advance(1)),
    /** Returns the server's answers to INFO. Scripts may run it, unlike CONFIG, so that every client can send it in one way. */
    settings: toScript(`return { redis.call('INFO', 'persistence'), redis.call('INFO', 'memory') }`),
  }
}

/** Probes the server, by a write, as the other scripts are: pauses of writes delay it, and replicas refuse it. */
export const PROBE = toScript(`return redis.call('DEL', KEYS[1])`)

/** The server's time in milliseconds. */
const NOW = `
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** The stored state of the event, and whether another token holds it. */
const ENTRY = `${NOW}
      local entry = redis.call('HMGET', KEYS[1], 'done', 'token', 'until')
      local held = entry[2] and entry[2] ~= ARGV[1] and (not entry[3] or tonumber(entry[3]) > now)`

function toScript(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
