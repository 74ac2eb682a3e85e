import Client
import Foundation

/// What the client library costs a device, as a table in Markdown.
///
///     replica-bench [RECORDS]
///
/// The gateway is made up and answers at once from pages that are ready, so that what is measured is the device: reading
/// pages, verifying them and writing rows.
@main
struct ReplicaBench {
    static func main() async throws {
        let records = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("replica-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let gateway = try ReadyGateway(records: records, page: 2_000)

        print("## The client\n\n| \(records) records | |\n|---|---|")
        let plain = try PlainInserts(gateway: gateway).run(at: folder.appendingPathComponent("plain.sqlite"))
        let before = Memory.peak
        let device = try await BenchDevice(folder, gateway)
        let first = try await device.firstSync(records)
        report("plain inserts into SQLite", Double(records) / plain, "records/s")
        report("first sync", Double(records) / first, "records/s")
        report("first sync as a ratio of plain inserts", plain / first, "")
        report("memory: highest during the first sync, above the start", Double(Memory.peak - before) / 1e6, "MB")
        report("memory: after it", Double(Memory.now) / 1e6, "MB")
        report("open to the first 50 rows", try await device.opening() * 1e3, "ms, median of 20")
        report("observed query after a remote change", try await device.observed(gateway) * 1e3, "ms, median of 50")
    }

    private static func report(_ name: String, _ value: Double, _ unit: String) {
        print("| \(name) | \(String(format: value < 10 ? "%.2f" : "%.0f", value)) \(unit) |")
    }
}

/// Of this process, in bytes.
enum Memory {
    static var peak: Int { field("VmHWM:") }
    static var now: Int { field("VmRSS:") }

    private static func field(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return (line?.split(separator: " ").dropLast().last).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }
}
