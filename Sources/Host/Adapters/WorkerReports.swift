import AdapterKit
import Gateway
import WorkerHost

extension WorkerAdapter: RemoteErrorShapes {}

/// What the admin interface and the metrics show of a worker.
extension WorkerAdapter: ProcessAdapter {
    public var processReport: AdapterProcessReport {
        let (report, counts) = (report, callCounts)
        return AdapterProcessReport(
            state: report.state, reason: report.reason, isServing: report.isServing, process: report.process,
            launched: report.launched, restarts: report.restarts, crashes: report.crashes,
            callsUnderWay: counts.inFlight, callsWaiting: counts.queued, protocolVersion: protocolVersion)
    }

    public var processUsage: AdapterProcessUsage {
        let usage = resourceUsage
        return AdapterProcessUsage(residentBytes: usage.residentBytes, processorTime: usage.processorTime)
    }

    public var crashReports: [WireValue] { crashes.reversed().map(\.value) }
}
