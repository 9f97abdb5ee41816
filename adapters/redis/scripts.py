"""Lua scripts that run inside Redis.

They declare themselves as writing, so that a replica with an older copy refuses them.

A subject's value is ``<generation>:<number>``, or the mark of a pending change: ``?<generation>:<highest number
known>|<nonce> <nonce>…``. Only numbers of the lease's generation count. The lease is ``<generation> <microsecond of the
epoch at which it ends> <run id of the server it was given on>``. A server restarted from a dump, or promoted in a
failover, has another run id, so the lease is invalid there.
"""

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Script:
    """A script and its SHA-1 for EVALSHA."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


_NOW = """#!lua
-- ARGV[1]: now in microseconds, or '' for this server's own clock.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
"""

_LEASE = f"""{_NOW}
-- The name of this start of this server: whatever another one knew is not what this one knows.
local function server()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- The generation and the end of a lease that lives on this server.
local function living(lease)
  local generation, ends, of = string.match(lease or '', '^(%x+) (%d+) (%x+)$')
  if generation and tonumber(ends) > now and of == server() then return generation, tonumber(ends) end
end
"""

ADMIT = Script(
    f"""{_LEASE}
-- KEYS: one log per hit, one per hit that counts instead when the token is dead, then, where a token is shown:
-- the lease, the epoch, the subjects it names.
-- ARGV: now, the numbers of both kinds of hits, count and window in microseconds of each, the number that the token
-- names for each subject.
-- Answers {{now, {{allowed, length, oldest or 0, when one leaves or 0, …}}, {{generation of the living lease, the
-- values of the keys behind it}}, 1 when the token is dead for certain}}; without values where each subject has the
-- number that the token names.
local hits, others = tonumber(ARGV[2]), tonumber(ARGV[3])
local logs = hits + others
local values, dead = {{}}, 0
if #KEYS > logs then
  values = redis.call('MGET', unpack(KEYS, logs + 1))
  local generation = living(values[1])
  values[1] = generation or false
  if generation then
    local own = generation .. ':'
    local length, issued, differs = #own, 1 + 2 * logs, false
    for i = 3, #values do
      local value, named = values[i], ARGV[issued + i]
      if value ~= own .. named then
        differs = true
        if value and string.sub(value, 1, length) == own
          and tonumber(string.sub(value, length + 1)) > tonumber(named) then dead = 1 end
      end
    end
    if not differs then values = {{}} end
  end
end
local before, counted = 0, hits
if dead == 1 then before, counted = hits, others end
local all = true
local answer = {{}}
local taken = {{}}
for i = before + 1, before + counted do
  local key, count, window = KEYS[i], tonumber(ARGV[2 + 2 * i]), tonumber(ARGV[3 + 2 * i])
  local first = redis.call('LINDEX', key, 0)
  -- what lies ahead was counted before the clock was set back
  while first and (tonumber(first) + window <= now or tonumber(first) > now) do
    redis.call('LPOP', key)
    first = redis.call('LINDEX', key, 0)
  end
  local already = taken[key] or 0
  local length = redis.call('LLEN', key) + already
  local allowed = length < count
  local leaver = not allowed and redis.call('LINDEX', key, length - count) or 0
  taken[key] = already + 1
  all = all and allowed
  local at = 4 * (i - before - 1)
  answer[at + 1], answer[at + 2] = allowed and 1 or 0, length
  answer[at + 3], answer[at + 4] = tonumber(first or 0), tonumber(leaver)
end
if all then
  for i = before + 1, before + counted do
    redis.call('RPUSH', KEYS[i], string.format('%.0f', now))
    redis.call('PEXPIRE', KEYS[i], math.ceil(tonumber(ARGV[3 + 2 * i]) / 1000))
    local at = 4 * (i - before - 1)
    answer[at + 2] = answer[at + 2] + 1
    if answer[at + 3] == 0 then answer[at + 3] = now end
  end
end
return {{now, answer, values, dead}}
"""
)

TAKE_BACK = Script(
    """#!lua
-- KEYS: the logs that a request was counted in just now.
for _, key in ipairs(KEYS) do redis.call('RPOP', key) end
return 1
"""
)

REMEMBER = Script(
    f"""{_LEASE}
-- KEYS: the lease, the epoch, the subjects. ARGV: now, the ticket, the numbers' seconds to live, the numbers.
local generation = living(redis.call('GET', KEYS[1]))
if not generation or redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
local own = generation .. ':'
for i = 3, #KEYS do
  local value = redis.call('GET', KEYS[i]) or ''
  if string.sub(value, 1, 1) ~= '?' and string.sub(value, 1, #own) ~= own then
    redis.call('SET', KEYS[i], own .. ARGV[i + 1], 'EX', ARGV[3])
  end
end
return 1
"""
)

BEGIN = Script(
    """#!lua
-- KEYS: the subjects. ARGV: the nonce, the marks' seconds to live.
for _, key in ipairs(KEYS) do
  local value = redis.call('GET', key) or ''
  if string.sub(value, 1, 1) == '?' then
    value = value .. ' ' .. ARGV[1]
  else
    value = '?' .. value .. '|' .. ARGV[1]
  end
  redis.call('SET', key, value, 'EX', ARGV[2])
end
return 1
"""
)

PUBLISH = Script(
    f"""{_LEASE}
-- KEYS: the lease, the epoch, the subjects.
-- ARGV: now, the nonce, the numbers' seconds to live, the new number of each or ''.
-- A mark that is gone, or was never set: what others read from the database meanwhile may be from before the
-- change, so their tickets end with the epoch, and a number that nobody knew is not made known.
-- Without a living lease nothing is believed anyway; a number is still kept in the marks of others, as the least.
local generation = living(redis.call('GET', KEYS[1]))
local function higher(a, b)
  if not a or (b and b > a) then return b end
  return a
end
for i = 3, #KEYS do
  local value, new = redis.call('GET', KEYS[i]) or '', tonumber(ARGV[i + 1])
  local known, nonces = string.match(value, '^%?([^|]*)|(.*)$')
  local of, number = string.match(known or value, '^(%x*):(%d+)$')
  local highest = higher(tonumber(number), new)
  local others, mine = {{}}, false
  for nonce in string.gmatch(nonces or '', '%S+') do
    if nonce == ARGV[2] then mine = true else others[#others + 1] = nonce end
  end
  if generation and new and not mine then redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3]) end
  local certain = generation and ((new and mine) or of == generation)
  local kept = highest and (certain and generation or '') .. ':' .. string.format('%.0f', highest) or ''
  if #others > 0 then
    redis.call('SET', KEYS[i], '?' .. kept .. '|' .. table.concat(others, ' '), 'KEEPTTL')
  elseif certain and highest then
    redis.call('SET', KEYS[i], kept, 'EX', ARGV[3])
  elseif value ~= '' then
    redis.call('DEL', KEYS[i])
  end
end
return 1
"""
)

LOOK = Script(
    f"""{_LEASE}
-- KEYS: the lease. ARGV: now. Answers {{now, when the lease ends or 0, the server's run id}}.
local _, ends = living(redis.call('GET', KEYS[1]))
return {{now, ends or 0, server()}}
"""
)

RENEW = Script(
    f"""{_LEASE}
-- KEYS: the lease, the epoch. ARGV: now, when the lease ends, a fresh name, the epoch's seconds to live, the run id of
-- the server whose time the end was counted from.
-- A lease that had ended begins a new generation, in which nothing is known yet.
if ARGV[5] ~= server() then return 0 end
local generation, before = living(redis.call('GET', KEYS[1]))
local ends = tonumber(ARGV[2])
if ends <= now then return 0 end
if before and before >= ends then return 1 end
local lifetime = math.ceil((ends - now) / 1000)
local lease = (generation or ARGV[3]) .. ' ' .. string.format('%.0f', ends) .. ' ' .. ARGV[5]
redis.call('SET', KEYS[1], lease, 'PX', lifetime)
if generation then
  redis.call('SET', KEYS[2], ARGV[3], 'NX', 'EX', ARGV[4])
else
  redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])
end
return 1
"""
)

NOTE_WRITE = Script(
    """#!lua
-- KEYS: the last write of a session. ARGV: its position, the seconds for which it counts.
-- Positions are digits of one length, so that the later one is the greater text.
local known = redis.call('GET', KEYS[1])
if known and known > ARGV[1] then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
else
  redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
end
return 1
"""
)

LAST_WRITE = Script(
    f"""{_LEASE}
-- KEYS: since when this server has kept last writes, the last write of a session. ARGV: now, the seconds
-- after which every replica that is read from has a write.
-- Answers {{1 when it has kept them for as long, the position or nothing}}.
local since, of = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%x+)$')
if of ~= server() then
  since = string.format('%.0f', now)
  redis.call('SET', KEYS[1], since .. ' ' .. server())
end
return {{tonumber(since) + tonumber(ARGV[2]) * 1000000 <= now and 1 or 0, redis.call('GET', KEYS[2])}}
"""
)

ALL = (ADMIT, TAKE_BACK, REMEMBER, BEGIN, PUBLISH, LOOK, RENEW, NOTE_WRITE, LAST_WRITE)
