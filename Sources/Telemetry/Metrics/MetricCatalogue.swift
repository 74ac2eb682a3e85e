/// Every metric there is: name, type, labels and help text. `portico reference metrics` prints docs/metrics.md from it.
public enum MetricCatalogue {
    private static let endpoint: [MetricDefinition.Label] = [
        .init("adapter", "an adapter's name; `gateway` for the gateway's own"),
        .init("operation", "an endpoint's name, such as `users.list`; `none` where none answered"),
    ]
    private static let adapter = MetricDefinition.Label("adapter", "an adapter's name")
    private static let upstream = MetricDefinition.Label("upstream", "a name below `upstreams`")
    private static let mirror = MetricDefinition.Label("mirror", "adapter and entity, such as `users/users`")
    private static let cache = MetricDefinition.Label("cache", "`responses`, `credentials`, `answers`")
    private static let pool = MetricDefinition.Label("pool", "`long` (searches through much), `stream` (long answers)")

    // Requests

    public static let requests = MetricDefinition(
        "portico_http_requests_total", .counter, "Requests that were answered, calls of batches included.",
        labels: endpoint + [
            .init("format", "of the answer: `json`, `plist`, `bplist`, `xml`, `cbor`, `html`, `text`, `other`, `none`"),
            .init("protocol", "`http1`, `http2`, `batch`"), .init("status", "`1xx` to `5xx`"),
        ])
    public static let requestDuration = MetricDefinition(
        "portico_http_request_duration_seconds", .histogram(MetricDefinition.requestBounds),
        "From a request's head to its answer; of an answer that is sent while it is made, to its end. Event streams are not counted.",
        labels: endpoint)
    public static let refusals = MetricDefinition(
        "portico_http_errors_total", .counter, "Requests that were answered with an error, by its code.",
        labels: [.init("code", "a code of [errors.md](errors.md)")])
    public static let requestsInFlight = MetricDefinition(
        "portico_http_requests_in_flight", .gauge, "Requests under way that count against `http.limits.inFlight`.")
    public static let connections = MetricDefinition(
        "portico_http_connections", .gauge, "Open connections of the public listener.")

    // Store

    public static let commits = MetricDefinition(
        "portico_store_commits_total", .counter, "Group commits, each with one sync of the disk.")
    public static let transactions = MetricDefinition(
        "portico_store_transactions_total", .counter, "Transactions that were asked for.",
        labels: [.init("result", "`committed`, `refused`")])
    public static let commitDuration = MetricDefinition(
        "portico_store_commit_duration_seconds", .histogram(MetricDefinition.requestBounds),
        "Of a group commit, the sync of the disk included.")
    public static let groupSize = MetricDefinition(
        "portico_store_commit_transactions", .histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]),
        "Transactions of one group commit.")
    public static let storeQueue = MetricDefinition(
        "portico_store_queued_transactions", .gauge, "Transactions that wait for the next group commit.")
    public static let reads = MetricDefinition(
        "portico_store_reads_total", .counter, "Reads.", labels: [.init("kind", "`quick`, `long`")])
    public static let readsRunning = MetricDefinition(
        "portico_store_pool_reads_running", .gauge, "Reads that have a connection of a pool.", labels: [pool])
    public static let readsWaiting = MetricDefinition(
        "portico_store_pool_reads_waiting", .gauge, "Reads that wait for a connection of a pool.", labels: [pool])
    public static let storeFiles = MetricDefinition(
        "portico_store_file_bytes", .gauge, "Sizes of the store's files.",
        labels: [.init("file", "`database`, `log`")])
    public static let backupAge = MetricDefinition(
        "portico_backup_age_seconds", .gauge,
        "Seconds since the store was as the backup target has it; since 1970 where it has nothing of this gateway.",
        labels: [.init("of", "`state` (the last copy with the log since), `copy` (the last verified copy alone)")])
    public static let backupCopies = MetricDefinition(
        "portico_backup_verified_copies", .gauge, "Verified full copies at the backup target.")
    public static let backupLogBytes = MetricDefinition(
        "portico_backup_log_bytes_total", .counter, "Bytes of committed pages that were written to the backup target.")
    public static let backupFailures = MetricDefinition(
        "portico_backup_failures_total", .counter, "Attempts of backups that failed.",
        labels: [.init("step", "`log`, `copy`, `verification`, `removal`")])
    public static let logPosition = MetricDefinition(
        "portico_store_log_position", .gauge, "The operation log's last position.")
    public static let logFloor = MetricDefinition(
        "portico_store_log_floor", .gauge, "The position up to which the operation log was compacted.")
    public static let storeWritable = MetricDefinition(
        "portico_store_writable", .gauge, "1 while writes succeed, as far as that is known, else 0.")

    // Sync

    public static let pulls = MetricDefinition(
        "portico_sync_pulls_total", .counter, "Pages that devices pulled.",
        labels: [.init("result", "`complete`, `partial`, `reset`, `failed`")])
    public static let pulledOperations = MetricDefinition(
        "portico_sync_pulled_operations_total", .counter, "Operations in the pages that devices pulled.")
    public static let pushes = MetricDefinition(
        "portico_sync_pushes_total", .counter, "Pushes of devices.", labels: [.init("result", "`done`, `failed`")])
    public static let mutations = MetricDefinition(
        "portico_sync_mutations_total", .counter, "Mutations that devices pushed.",
        labels: [.init("outcome", "`applied`, `merged`, `conflict`, `rejected`, `retry`")])
    public static let streams = MetricDefinition(
        "portico_sync_streams", .gauge, "Live streams and long polls that are open.")
    public static let syncLag = MetricDefinition(
        "portico_sync_lag_operations", .gauge, "Operations of the log that live streams were not notified of yet.")

    // Identity

    public static let signIns = MetricDefinition(
        "portico_identity_sign_ins_total", .counter, "Sign-ins that begin a session.",
        labels: [
            .init("method", "`password`, `provider`"), .init("result", "`accepted`, `refused`, `throttled`, `failed`"),
        ])

    // Caches

    public static let cacheHits = MetricDefinition(
        "portico_cache_hits_total", .counter, "Look-ups that found an entry. Not counted for `answers`.",
        labels: [cache])
    public static let cacheMisses = MetricDefinition(
        "portico_cache_misses_total", .counter, "Look-ups that found none. Not counted for `answers`.", labels: [cache])
    public static let cacheEntries = MetricDefinition(
        "portico_cache_entries", .gauge, "Entries of a cache.", labels: [cache])
    public static let cacheBytes = MetricDefinition(
        "portico_cache_bytes", .gauge, "What the entries take, about. Not measured for `credentials`.", labels: [cache])

    // Other systems

    public static let upstreamRequests = MetricDefinition(
        "portico_upstream_requests_total", .counter, "Calls of other systems.",
        labels: [upstream, .init("result", "the status's class such as `2xx`, or the kind of the failure")])
    public static let upstreamDuration = MetricDefinition(
        "portico_upstream_request_duration_seconds",
        .histogram([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]),
        "From a call's begin to the head of its answer or its failure, waiting and retries included.",
        labels: [upstream])
    public static let upstreamRetries = MetricDefinition(
        "portico_upstream_retries_total", .counter, "Tries beyond the first of a call.", labels: [upstream])
    public static let upstreamOpen = MetricDefinition(
        "portico_upstream_open_circuits", .gauge, "Servers of an upstream whose circuit breaker is open.",
        labels: [upstream])
    public static let upstreamActive = MetricDefinition(
        "portico_upstream_requests_in_flight", .gauge, "Calls under way.", labels: [upstream])
    public static let upstreamWaiting = MetricDefinition(
        "portico_upstream_queued_requests", .gauge, "Calls that wait for their turn.", labels: [upstream])
    public static let mirrorAge = MetricDefinition(
        "portico_mirror_age_seconds", .gauge, "How old a mirror's rows are; missing while they were never fetched.",
        labels: [mirror])
    public static let mirrorHeld = MetricDefinition(
        "portico_mirror_held", .gauge, "1 while a refresh is held back by its guard, else 0.", labels: [mirror])
    public static let mirrorFailures = MetricDefinition(
        "portico_mirror_failures", .gauge, "Refreshes in a row that failed.", labels: [mirror])
    public static let mirrorMisfits = MetricDefinition(
        "portico_mirror_misfit_rows", .gauge, "Rows with values that do not fit their fields and were not taken.",
        labels: [mirror])
    public static let pendingWrites = MetricDefinition(
        "portico_pending_writes", .gauge, "Changes of callers that another system has not made yet.", labels: [mirror])
    public static let unknownWrites = MetricDefinition(
        "portico_unknown_writes", .gauge, "Changes of callers whose outcome in the other system is not known.",
        labels: [mirror])

    // Traces

    public static let spans = MetricDefinition(
        "portico_trace_spans_total", .counter, "Spans of sampled traces, by what became of them.",
        labels: [
            .init("result", "`exported`, `failed` (the collector did not take them), `dropped` (the queue was full)")
        ])
    public static let queuedSpans = MetricDefinition(
        "portico_trace_queued_spans", .gauge, "Spans that wait to be exported.")

    // The process

    public static let adapterDisabled = MetricDefinition(
        "portico_adapter_disabled", .gauge, "1 while an operator has the adapter's calls refused, else 0.",
        labels: [adapter])
    public static let adapterUp = MetricDefinition(
        "portico_adapter_up", .gauge, "1 while the adapter runs, also where an operator has disabled it, else 0.",
        labels: [adapter])
    public static let adapterRestarts = MetricDefinition(
        "portico_adapter_restarts_total", .counter, "Launches of an adapter's process after the first.",
        labels: [adapter])
    public static let adapterCrashes = MetricDefinition(
        "portico_adapter_crashes_total", .counter, "Ends of an adapter's process that were not asked for.",
        labels: [adapter])
    public static let adapterUptime = MetricDefinition(
        "portico_adapter_uptime_seconds", .gauge,
        "Since the launch of an adapter's process; missing while there is none.", labels: [adapter])
    public static let adapterCalls = MetricDefinition(
        "portico_adapter_calls_in_flight", .gauge, "Calls that an adapter's process has.", labels: [adapter])
    public static let adapterQueue = MetricDefinition(
        "portico_adapter_queued_calls", .gauge, "Calls that wait for an adapter's process to restart.",
        labels: [adapter])
    public static let adapterResidentBytes = MetricDefinition(
        "portico_adapter_resident_bytes", .gauge,
        "Resident memory of an adapter's process; missing while there is none.", labels: [adapter])
    public static let adapterProcessorTime = MetricDefinition(
        "portico_adapter_processor_seconds_total", .counter,
        "Processor time of user and system of an adapter's processes, those included that have ended.",
        labels: [adapter])
    public static let adapterCounter = MetricDefinition(
        "portico_adapter_counter_total", .counter,
        "What an adapter counts itself (`AdapterContext.metrics`). Goes on where the adapter's process restarts.",
        labels: [adapter, adapterMetric])
    public static let adapterGauge = MetricDefinition(
        "portico_adapter_gauge", .gauge,
        "What an adapter measures itself (`AdapterContext.metrics`), as it has said last.",
        labels: [adapter, adapterMetric])
    private static let adapterMetric = MetricDefinition.Label(
        "name", "the adapter's own, at most 64 of an adapter: `[a-z][a-z0-9_]{0,63}`")
    public static let ready = MetricDefinition(
        "portico_ready", .gauge, "1 while `/health/ready` answers 200, else 0.")
    public static let buildInfo = MetricDefinition(
        "portico_build_info", .gauge, "Always 1.", labels: [.init("version", "of this gateway")])
    public static let loopLag = MetricDefinition(
        "portico_event_loop_lag_seconds", .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]),
        "How late an event loop begins a task that is due, measured every second.",
        labels: [.init("loop", "a number from 0")])
    public static let cpu = MetricDefinition(
        "process_cpu_seconds_total", .counter, "Processor time of user and system.")
    public static let residentMemory = MetricDefinition(
        "process_resident_memory_bytes", .gauge, "Resident memory.")
    public static let virtualMemory = MetricDefinition("process_virtual_memory_bytes", .gauge, "Virtual memory.")
    public static let openFiles = MetricDefinition("process_open_fds", .gauge, "Open file descriptors.")
    public static let mostFiles = MetricDefinition("process_max_fds", .gauge, "File descriptors that may be open.")
    public static let startTime = MetricDefinition(
        "process_start_time_seconds", .gauge, "When the process began, in seconds since 1970.")

    /// In the order in which they are written and documented.
    public static let all = [
        requests, requestDuration, refusals, requestsInFlight, connections,
        commits, transactions, commitDuration, groupSize, storeQueue, reads, readsRunning, readsWaiting, storeFiles,
        logPosition, logFloor, storeWritable, backupAge, backupCopies, backupLogBytes, backupFailures,
        pulls, pulledOperations, pushes, mutations, streams, syncLag,
        signIns, cacheHits, cacheMisses, cacheEntries, cacheBytes,
        upstreamRequests, upstreamDuration, upstreamRetries, upstreamOpen, upstreamActive, upstreamWaiting,
        mirrorAge, mirrorHeld, mirrorFailures, mirrorMisfits, pendingWrites, unknownWrites,
        spans, queuedSpans, adapterUp, adapterDisabled, adapterRestarts, adapterCrashes, adapterUptime, adapterCalls,
        adapterQueue, adapterResidentBytes, adapterProcessorTime, adapterCounter, adapterGauge, ready, buildInfo,
        loopLag, cpu, residentMemory, virtualMemory, openFiles,
        mostFiles, startTime,
    ]
}
