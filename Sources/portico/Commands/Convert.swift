import ArgumentParser
import Foundation
import WireFormats

/// `portico convert`: standard input to standard output, from one wire format to another.
struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Converts standard input between wire formats; without --to it validates.",
        discussion: """
            Documents are read as a whole. Of a key that stands twice the last value is kept, with a warning.

            Status: 0 done; 1 the input, or a value that the target cannot carry, was refused, with its place on \
            standard error; 2 wrong usage.
            """)

    private static let chunk = 1 << 20

    @Option(help: "json, plist, bplist, xml or cbor.") var from: Format
    @Option(help: "json, plist, bplist, xml or cbor.") var to: Format?
    @Option(help: "The deepest nesting, at most \(ReadingLimits.maximumDepth).") var maxDepth: Int = 512
    @Option(help: "The largest input, in bytes.") var maxBytes: Int = Conversion.defaultMaximumBytes
    @Option(
        help:
            "exact: a date with a fraction of a second that the target cannot carry is refused; whole: it is rounded down to the second."
    )
    var dates: Dates = .exact

    func validate() throws {
        guard maxDepth > 0, maxBytes > 0 else { throw ValidationError("A limit is a number above 0.") }
        guard maxDepth <= ReadingLimits.maximumDepth else {
            throw ValidationError("--max-depth is at most \(ReadingLimits.maximumDepth).")
        }
    }

    func run() throws {
        let conversion = Conversion(
            from: from.format, to: to?.format, maximumDepth: maxDepth, maximumBytes: maxBytes,
            dateFractions: dates.policy)
        do {
            let (output, report) = try conversion.run(try input())
            if !output.isEmpty { try FileHandle.standardOutput.write(contentsOf: Data(output)) }
            if report.droppedDuplicates > 0 {
                say("warning: \(report.droppedDuplicates) members gave way to later ones of the same key")
            }
        } catch {
            say("error: \(error)")
            throw ExitCode(1)
        }
    }

    /// Throws as soon as there is more than is allowed.
    private func input() throws -> [UInt8] {
        var input: [UInt8] = []
        while let chunk = try FileHandle.standardInput.read(upToCount: Self.chunk), !chunk.isEmpty {
            guard input.count + chunk.count <= maxBytes else { throw Conversion.tooLong(maxBytes) }
            input += chunk
        }
        return input
    }

    private func say(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}

extension Convert {
    /// A format by its name.
    struct Format: ExpressibleByArgument {
        let format: any WireFormat

        init?(argument: String) {
            guard let format = FormatName(argument).flatMap({ FormatCatalogue.conversion[$0] }) else { return nil }
            self.format = format
        }
    }

    /// What becomes of fractions of a second in a format that has whole seconds.
    enum Dates: String, ExpressibleByArgument, CaseIterable {
        case exact, whole

        var policy: WritingOptions.DateFractionPolicy { self == .exact ? .error : .truncate }
    }
}
