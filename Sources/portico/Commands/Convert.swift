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

/// Standard input as one piece of memory that a file backs: the file itself where it is one, otherwise a temporary file
/// that has no name and goes with the process.
struct MappedInput {
    private let start: UnsafeMutableRawPointer
    private let count: Int

    /// Nil where standard input is shorter than `least`: `shorter` has it then.
    init?(least: Int, most: Int, shorter: inout [UInt8]) throws {
        let input = FileHandle.standardInput
        var status = stat()
        guard fstat(input.fileDescriptor, &status) == 0 else { throw Self.failure() }
        if status.st_mode & S_IFMT == S_IFREG, lseek(input.fileDescriptor, 0, SEEK_CUR) == 0, status.st_size >= least {
            try self.init(descriptor: input.fileDescriptor, count: Int(status.st_size))
            return
        }
        while shorter.count < least {
            guard let chunk = try input.read(upToCount: Convert.chunk), !chunk.isEmpty else { return nil }
            shorter += chunk
        }
        try self.init(spooling: input, after: shorter, most: most)
    }

    private init(spooling input: FileHandle, after first: [UInt8], most: Int) throws {
        var path = Array((NSTemporaryDirectory() + "portico-XXXXXX").utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw Self.failure() }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard unlink(path) == 0 else { throw Self.failure() }
        var (chunk, count) = (Data(first), 0)
        // One byte more than is allowed shows that there are too many.
        while !chunk.isEmpty, count <= most {
            try file.write(contentsOf: chunk)
            count += chunk.count
            chunk = try input.read(upToCount: Convert.chunk) ?? Data()
        }
        try self.init(descriptor: descriptor, count: count)
    }

    private init(descriptor: Int32, count: Int) throws {
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw Self.failure()
        }
        (self.start, self.count) = (start, count)
    }

    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// What is resident need not be.
    func letGo() { madvise(start, count, MADV_DONTNEED) }

    private static func failure() -> any Error {
        CocoaError(.fileReadUnknown, userInfo: [NSLocalizedDescriptionKey: String(cString: strerror(errno))])
    }
}
