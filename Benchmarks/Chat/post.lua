-- Posts messages. The path and the token come from the environment.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.body = '{"text":"Shall we meet at the usual place tomorrow, or would you rather have it some other day?"}'
failed = 0
function setup(thread) threads = threads or {}; table.insert(threads, thread) end
function response(status) if status ~= 200 then failed = failed + 1 end end
function done(summary)
  local failures = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  for _, thread in ipairs(threads) do failures = failures + thread:get("failed") end
  print(string.format("RESULT %d %d %d", summary.requests, summary.duration, failures))
end
