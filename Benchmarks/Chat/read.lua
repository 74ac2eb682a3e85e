-- Reads pages of a room's history, each at another place. Paths come from the file that the environment names.
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
paths = {}
for path in io.lines(os.getenv("PATHS")) do table.insert(paths, path) end
next_path, failed = 0, 0
function setup(thread) threads = threads or {}; table.insert(threads, thread) end
function request() next_path = next_path % #paths + 1; return wrk.format("GET", paths[next_path]) end
function response(status) if status ~= 200 then failed = failed + 1 end end
function done(summary, latency)
  local failures = 0
  for _, thread in ipairs(threads) do failures = failures + thread:get("failed") end
  print(string.format("RESULT %d %d %d", latency:percentile(50), latency:percentile(99), failures))
end
