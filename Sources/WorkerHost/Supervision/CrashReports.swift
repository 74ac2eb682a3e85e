import AdapterKit
import FoundationEssentials
import Synchronization
import ValueTree
import WireFormats

/// The end of a worker that was not to end.
public struct CrashReport: Sendable, Equatable {
    /// When it ended, in seconds since 2001-01-01 00:00:00 UTC.
    public let time: Double
    /// The reason, or what was found of it: `signal 4 (SIGILL)`, `It has not answered for 5.0 seconds.`
    public let reason: String
    /// The end of its process; nil: it was never there.
    public let exit: String?
    /// Seconds from its launch to its end.
    public let uptime: Double
    /// Calls that it had not answered.
    public let callsUnderWay: Int
    /// The number of its launch.
    public let attempt: Int
    /// The last lines that it wrote, at most 20.
    public let output: [String]

    /// Creates a report with these values.
    public init(
        time: Double, reason: String, exit: String?, uptime: Double, callsUnderWay: Int, attempt: Int, output: [String]
    ) {
        self.time = time
        self.reason = reason
        self.exit = exit
        self.uptime = uptime
        self.callsUnderWay = callsUnderWay
        self.attempt = attempt
        self.output = output
    }
}

extension CrashReport {
    /// As the file and the admin interface have it.
    public var value: WireValue {
        [
            "time": .date(WireDate(secondsSinceReferenceDate: time)), "reason": .string(reason),
            "exit": exit.map { .string($0) } ?? .null, "uptimeSeconds": .double(uptime),
            "callsUnderWay": .int64(Int64(callsUnderWay)), "attempt": .int64(Int64(attempt)),
            "output": .array(output.map { .string($0) }),
        ]
    }

    /// Nil where it is no report.
    init?(_ value: WireValue) {
        guard let time = value["time"]?.stringValue.flatMap({ WireDate(rfc3339: $0) }),
            let reason = value["reason"]?.stringValue, let uptime = value["uptimeSeconds"]?.doubleValue,
            let calls = value["callsUnderWay"]?.int64Value, let attempt = value["attempt"]?.int64Value,
            let output = value["output"]?.arrayValue
        else { return nil }
        self.init(
            time: time.secondsSinceReferenceDate, reason: reason, exit: value["exit"]?.stringValue, uptime: uptime,
            callsUnderWay: Int(clamping: calls), attempt: Int(clamping: attempt),
            output: output.compactMap(\.stringValue))
    }
}

/// The last crash reports of one adapter, in memory and in a file that its worker cannot open.
final class CrashReports: Sendable {
    static let kept = 20

    private let reports: Mutex<[CrashReport]>
    private let path: String?

    /// `path`: a file that may be there; nil: they are kept in memory alone. One that cannot be read counts as empty.
    init(path: String?) {
        self.path = path
        let bytes = path.flatMap { try? Data(contentsOf: URL(filePath: $0)) }
        let stored = bytes.flatMap { try? JSONFormat().read(Array($0)) }?.arrayValue ?? []
        reports = Mutex(stored.compactMap { CrashReport($0) }.suffix(Self.kept))
    }

    /// The oldest first.
    var all: [CrashReport] { reports.withLock { $0 } }

    /// Blocks on the file system. Where the file cannot be written, the report is kept in memory alone.
    func add(_ report: CrashReport) throws {
        let all = reports.withLock { reports in
            reports = (reports + [report]).suffix(Self.kept)
            return reports
        }
        guard let path else { return }
        let bytes = try JSONFormat().write(.array(all.map(\.value)))
        try Data(bytes).write(to: URL(filePath: path), options: .atomic)
    }
}
