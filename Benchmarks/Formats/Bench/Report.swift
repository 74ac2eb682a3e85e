import Foundation
import Shapes
import WireFormats

/// The section on the wire formats in RESULTS.md.
struct Report {
    let shapes: [EncodedShape]
    let comparisons: [Comparison]

    var text: String { [introduction, table].joined(separator: "\n") }

    private var introduction: String {
        let lines = shapes.map { shape in
            let kilobytes = shape[.json].reduce(0) { $0 + $1.count } / 1000
            return "- \(shape.shape.name): \(shape.shape.description), \(kilobytes) KB of JSON"
        }
        return """
            ## Wire formats

            How many times the peer's speed ours reaches, best of 45 rounds that take turns, in processor time, one core. The worst of
            the three shapes counts. Ours checks UTF-8, duplicate keys, depth and sizes throughout; RapidJSON, simdjson
            and libplist do not check duplicate keys.

            \(lines.joined(separator: "\n"))

            """
    }

    private var table: String {
        let names = shapes.map(\.shape.name).joined(separator: " | ")
        let columns = shapes.map { _ in "---:" }.joined(separator: "|")
        let rows = comparisons.map(row).joined(separator: "\n")
        return """
            | work | peer | \(names) | worst | floor | goal | reached |
            |---|---|\(columns)|---:|---:|---:|---|
            \(rows)
            """
    }

    private func row(_ comparison: Comparison) -> String {
        let cells = comparison.results.map { "\(times($0.ratio)) (\(Int($0.megabytesPerSecond)) MB/s)" }
        let (goal, verdict) = (comparison.goal, comparison.verdict)
        return
            "| \(goal.work.name) | \(goal.peer.name) | \(cells.joined(separator: " | ")) | \(times(comparison.worst)) | "
            + "\(times(goal.floor)) | \(times(goal.goal)) | \(verdict) |"
    }

    private func times(_ ratio: Double) -> String { String(format: "%.2f×", ratio) }
}
