import AdapterKit
import HostConfiguration
import ServiceLifecycle
import Telemetry
import Upstream

/// Where spans go, and which: what is configured below `traces`.
struct TracePlan {
    /// Below the upstream's address (OTLP/HTTP, "OTLP/HTTP Request").
    private static let path = "v1/traces"

    let queue: SpanQueue
    let tracer: SpanTracer
    private let upstream: UpstreamName
    private let interval: Duration

    /// Nil where `traces.upstream` is left out. Throws ``ConfigurationErrors``.
    init?(_ resolved: ResolvedConfiguration, _ upstreams: [UpstreamName: UpstreamPlan]) throws {
        func wrong(_ key: String, _ message: String) -> ConfigurationErrors {
            ConfigurationErrors([
                ConfigurationError(message, at: resolved.location(of: key) ?? .commandLine(key))
            ])
        }
        guard let text = resolved["traces.upstream"]?.text else { return nil }
        guard let upstream = UpstreamName(text), let plan = upstreams[upstream] else {
            throw wrong("traces.upstream", "There is no upstream \(text).")
        }
        guard !plan.actsForCallers else {
            throw wrong(
                "traces.upstream", "The upstream \(text) is called in its callers' names, and spans have no caller.")
        }
        let values = SettingValues(resolved)
        let ratio = values.number("traces.ratio")
        guard (0...1).contains(ratio) else { throw wrong("traces.ratio", "A share is a number from 0 to 1.") }
        self.upstream = upstream
        interval = max(values.duration("traces.interval"), .milliseconds(100))
        queue = SpanQueue(limit: values.integer("traces.queue"))
        tracer = SpanTracer(
            Sampling(ratio: ratio, followsCallers: values.flag("traces.followCallers")), queue: queue)
    }

    /// Sends spans through the upstream's client, with its credentials and limits.
    func exporter(to upstreams: [UpstreamName: any AdapterKit.Upstream], log: Log) throws -> OTLPExporter {
        guard let collector = upstreams[upstream], let address = collector.url.resolving(Self.path) else {
            throw CommandError("traces.upstream: there is no upstream \(upstream).")
        }
        return OTLPExporter(queue, version: PorticoRelease.version, interval: interval, log: log) { document in
            var request = UpstreamRequest(.post, address)
            request.fields["Content-Type"] = "application/json"
            request.body = document
            let response = try await collector.send(request)
            guard (200..<300).contains(response.status) else {
                throw UpstreamFailure(.broken, of: collector.name, detail: "status \(response.status)")
            }
        }
    }
}

/// Exports spans while the gateway runs, and what waits at its end.
struct TraceService: Service {
    /// Nil: there are no traces.
    let exporter: OTLPExporter?

    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard let exporter else {
                while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
                return
            }
            await exporter.run()
        }
    }
}
