import AdapterKit
import Identity
import MirrorEngine
import RecordStorage
import Telemetry

/// What is measured at each scrape of the adapters, their mirrors, sync and the caches.
struct GatewayCollector: Sendable {
    let adapters: [ServedAdapter]
    let identity: Identity
    let sync: SyncServices
    let services: GatewayServices
    let readiness: Readiness
    let version: String

    func collect(into samples: inout MetricSamples) {
        samples.set(MetricCatalogue.buildInfo, [version], 1)
        samples.set(MetricCatalogue.ready, readiness.isReady ? 1 : 0)
        samples.set(MetricCatalogue.storeWritable, readiness.storeProblem == nil ? 1 : 0)
        samples.set(MetricCatalogue.logPosition, services.store.position.number)
        samples.set(MetricCatalogue.logFloor, services.store.floor.number)
        samples.set(MetricCatalogue.streams, sync.live.count)
        samples.set(MetricCatalogue.syncLag, sync.live.lag)
        for served in adapters { collect(of: served, into: &samples) }
        collectCaches(into: &samples)
    }

    private func collect(of served: ServedAdapter, into samples: inout MetricSamples) {
        let name = served.declaration.name.text
        samples.set(MetricCatalogue.adapterUp, [name], served.isUp ? 1 : 0)
        samples.set(MetricCatalogue.adapterDisabled, [name], served.slot.isDisabled ? 1 : 0)
        served.metrics.collect(of: name, into: &samples)
        let now = services.clock.now()
        if let report = served.process?.processReport {
            samples.set(MetricCatalogue.adapterRestarts, [name], report.restarts)
            samples.set(MetricCatalogue.adapterCrashes, [name], report.crashes)
            samples.set(MetricCatalogue.adapterCalls, [name], report.callsUnderWay)
            samples.set(MetricCatalogue.adapterQueue, [name], report.callsWaiting)
            if let launched = report.launched {
                let uptime = now.secondsSinceReferenceDate - launched.secondsSinceReferenceDate
                samples.set(MetricCatalogue.adapterUptime, [name], max(0, uptime))
            }
        }
        if let usage = served.process?.processUsage {
            if let bytes = usage.residentBytes { samples.set(MetricCatalogue.adapterResidentBytes, [name], bytes) }
            samples.set(MetricCatalogue.adapterProcessorTime, [name], usage.processorTime / .seconds(1))
        }
        for mirror in served.mirrors {
            let (label, status) = ([mirror.id.description], mirror.status)
            if let asOf = status.machine.asOf {
                let age = now.secondsSinceReferenceDate - asOf.secondsSinceReferenceDate
                samples.set(MetricCatalogue.mirrorAge, label, max(0, age))
            }
            samples.set(MetricCatalogue.mirrorHeld, label, status.machine.held == nil ? 0 : 1)
            samples.set(MetricCatalogue.mirrorFailures, label, status.machine.failures)
            samples.set(MetricCatalogue.mirrorMisfits, label, status.stored.misfits.count)
        }
        for writes in served.writes {
            let counts = writes.counts
            samples.set(MetricCatalogue.pendingWrites, [writes.id.description], counts.pending)
            samples.set(MetricCatalogue.unknownWrites, [writes.id.description], counts.unknown)
        }
    }

    private func collectCaches(into samples: inout MetricSamples) {
        let responses = services.cache.figures
        samples.set(MetricCatalogue.cacheHits, ["responses"], responses.hits)
        samples.set(MetricCatalogue.cacheMisses, ["responses"], responses.misses)
        samples.set(MetricCatalogue.cacheEntries, ["responses"], responses.entries)
        samples.set(MetricCatalogue.cacheBytes, ["responses"], responses.bytes)
        let credentials = identity.credentialFigures
        samples.set(MetricCatalogue.cacheHits, ["credentials"], credentials.hits)
        samples.set(MetricCatalogue.cacheMisses, ["credentials"], credentials.misses)
        samples.set(MetricCatalogue.cacheEntries, ["credentials"], credentials.entries)
        let answers = adapters.flatMap(\.callsThrough).map(\.calls.kept)
        samples.set(MetricCatalogue.cacheEntries, ["answers"], answers.reduce(0) { $0 + $1.answers })
        samples.set(MetricCatalogue.cacheBytes, ["answers"], answers.reduce(0) { $0 + $1.bytes })
    }
}
