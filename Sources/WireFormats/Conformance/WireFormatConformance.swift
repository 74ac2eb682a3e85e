import AdapterKit
import WireFormats

/// What every wire format must hold, as named checks. A format's tests run all of them:
///
///     @Test(arguments: WireFormatConformance(MyFormat()).checks)
///     func `the format conforms`(check: ConformanceCheck) throws { try check.run() }
public struct WireFormatConformance: Sendable {
    let format: any WireFormat
    let seed: UInt64
    /// How many values are generated for a check.
    let count: Int

    public init(_ format: any WireFormat, seed: UInt64 = 1, count: Int = 300) {
        (self.format, self.seed, self.count) = (format, seed, count)
    }

    public var checks: [ConformanceCheck] {
        meanings + limits + hostileInput + roundTrips
    }

    func check(_ name: String, _ body: @escaping @Sendable () throws -> Void) -> ConformanceCheck {
        ConformanceCheck(name: "\(format.name): \(name)", run: body)
    }
}

public struct ConformanceCheck: Sendable, CustomStringConvertible {
    public let name: String
    /// Throws ``ConformanceViolation`` where the format breaks the rule.
    public let run: @Sendable () throws -> Void

    public var description: String { name }
}

public struct ConformanceViolation: Error, CustomStringConvertible {
    public let description: String
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(ConformanceViolation) {
    guard condition else { throw ConformanceViolation(description: message()) }
}

extension WireFormatConformance {
    /// Writing and reading gives the expectation: from the tree, from the tape and from a stream of pieces.
    func requireRoundTrip(_ value: WireValue, _ options: WritingOptions = WritingOptions()) throws {
        let expected = format.traits.expectation(of: value)
        let bytes = try format.write(value, options: options)
        let read = try format.read(bytes)
        try require(read == expected, "wrote \(value), read \(read)")
        let tape = try format.readTape(bytes, limits: ReadingLimits())
        try require(tape.value() == expected, "the tape of \(value) gives \(tape.value())")
        try require(try format.read(format.write(tape)) == expected, "the rewritten tape of \(value) reads differently")
        try require(try format.read(streamed(value)) == expected, "the stream of \(value) reads differently")
    }

    func streamed(_ value: WireValue) throws -> [UInt8] {
        let writer = format.makeStreamWriter(options: WritingOptions())
        var bytes: [UInt8] = []
        try stream(value, to: writer) { bytes += writer.drain() }
        try writer.finish()
        return bytes + writer.drain()
    }

    private func stream(_ value: WireValue, to writer: any StreamWriter, _ drain: () -> Void) throws {
        switch value {
        case .array(let items):
            try writer.begin(.array)
            for item in items { try stream(item, to: writer, drain) }
            try writer.end()
        case .dictionary(let members):
            try writer.begin(.dictionary)
            for member in members {
                try writer.key(member.key)
                try stream(member.value, to: writer, drain)
            }
            try writer.end()
        default: try writer.write(value)
        }
        drain()
    }

    func requireError(
        _ kinds: Set<WireFormatError.Kind>, _ what: String, _ body: () throws -> Void
    ) throws {
        do { try body() } catch let error as WireFormatError {
            return try require(kinds.contains(error.kind), "\(what): \(error.kind) (\(error))")
        }
        throw ConformanceViolation(description: "\(what): no error")
    }
}
