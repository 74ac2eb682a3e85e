import ArgumentParser
import Foundation
import WireFormats

/// `portico convert`: standard input to standard output, from one wire format to another.
struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Converts standard input between wire formats; without --to it validates.",
        discussion: """
            Of a key that stands twice the last value is kept, with a warning. Long documents are converted in pieces, in \
            bounded memory; a long binary property list that does not come from a file is written to a temporary one.

            Status: 0 done; 1 the input, or a value that the target cannot carry, was refused, with its place on \
            standard error; 2 wrong usage.
            """)

    static let chunk = 64 << 10

    @Option(help: "json, plist, bplist, xml or cbor.") var from: Format
    @Option(help: "json, plist, bplist, xml or cbor.") var to: Format?
    @Option(help: "The deepest nesting.") var maxDepth: Int = 512
    @Option(help: "The largest input, in bytes.") var maxBytes: Int = Conversion.defaultMaximumBytes

    func validate() throws {
        guard maxDepth > 0, maxBytes > 0 else { throw ValidationError("A limit is a number above 0.") }
    }

    func run() throws {
        let conversion = Conversion(
            from: from.format, to: to?.format, maximumDepth: maxDepth, maximumBytes: maxBytes)
        do {
            let report = try report(of: conversion)
            if report.droppedDuplicates > 0 {
                say("warning: \(report.droppedDuplicates) members gave way to later ones of the same key")
            }
        } catch {
            say("error: \(error)")
            throw ExitCode(1)
        }
    }

    private func report(of conversion: Conversion) throws -> Conversion.Report {
        let output = { (bytes: [UInt8]) in try FileHandle.standardOutput.write(contentsOf: Data(bytes)) }
        var first: [UInt8] = []
        if from.format.name == .bplist,
            let mapped = try MappedInput(least: conversion.heldBytes, most: maxBytes, shorter: &first)
        {
            let bytes = mapped.bytes
            return try conversion.run(mapped: bytes.span, letGo: mapped.letGo, output: output)
        }
        let input = {
            defer { first = [] }
            return first.isEmpty ? Array(try FileHandle.standardInput.read(upToCount: Self.chunk) ?? Data()) : first
        }
        return try conversion.run(input: input, output: output)
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
}
