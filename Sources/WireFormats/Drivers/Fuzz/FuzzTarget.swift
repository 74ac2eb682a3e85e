import AdapterKit
import WireFormats

/// What one fuzzer feeds its input to, and what must hold then.
enum FuzzTarget {
    /// A reader: tape and tree refuse the same documents and are the same value.
    case read(any WireFormat)
    /// From one format into another one, both picked by the first byte: tape and tree are written alike, and what was
    /// written can be read.
    case transcode
    /// A document in pieces and on the whole: both are refused, or both become the same.
    case convert
    /// A binary property list out of a piece of memory and on the whole: the same.
    case mapped

    private static let formats = FormatCatalogue.conversion.formats
    private static let limits = ReadingLimits(depth: 128, values: 50_000, expandedBytes: 4 << 20)

    init?(_ name: String) {
        switch name {
        case "transcode": self = .transcode
        case "convert": self = .convert
        case "mapped": self = .mapped
        default:
            guard let format = FormatName(name).flatMap({ FormatCatalogue.conversion[$0] }) else { return nil }
            self = .read(format)
        }
    }

    func probe(_ input: [UInt8]) {
        switch self {
        case .read(let format): Self.read(input, format)
        case .transcode:
            guard let choice = input.first.map(Int.init) else { return }
            let (source, target) = (choice % Self.formats.count, choice / Self.formats.count % Self.formats.count)
            Self.transcode(Array(input.dropFirst()), Self.formats[source], Self.formats[target])
        case .convert:
            guard let choice = input.first else { return }
            Self.convert(Array(input.dropFirst()), choice & 1 == 0 ? .json : .plist, pieceBytes: Int(choice >> 1) + 16)
        case .mapped: Self.map(input)
        }
    }

    private static func map(_ document: [UInt8]) {
        let conversion = Conversion(from: BinaryPropertyListFormat(), to: CBORFormat(), maximumDepth: 64)
        let whole = converted(document, conversion.from, conversion)
        var mapped: [UInt8] = []
        do {
            _ = try conversion.run(mapped: document.span, letGo: {}, output: { mapped += $0 })
        } catch {
            guard case .failure = whole else { preconditionFailure("refused where it is mapped only: \(error)") }
            return
        }
        guard case .success(let one) = whole else { preconditionFailure("refused on the whole only") }
        precondition(read(one) == read(mapped), "mapped, it becomes something else")
    }

    private static func read(_ document: [UInt8], _ format: any WireFormat) {
        let tree = try? format.read(document, limits: limits)
        guard let tape = try? format.readTape(document, limits: limits) else {
            precondition(tree == nil, "\(format.name): a tree without a tape")
            return
        }
        precondition(tree == tape.value(), "\(format.name): tree and tape differ")
        transcode(document, format, format)
    }

    private static func transcode(_ document: [UInt8], _ source: any WireFormat, _ target: any WireFormat) {
        guard let tape = try? source.readTape(document, limits: limits), let written = try? target.write(tape) else {
            return
        }
        let fromTree = try? target.write(tape.value())
        precondition(written == fromTree, "\(target.name): tape and tree are written differently")
        do { _ = try target.read(written) } catch {
            preconditionFailure("\(target.name) refuses its own output: \(error)")
        }
    }

    private static func convert(_ document: [UInt8], _ name: FormatName, pieceBytes: Int) {
        guard let format = FormatCatalogue.conversion[name] else { return }
        let whole = converted(document, format, Conversion(from: format, to: CBORFormat(), maximumDepth: 64))
        let pieces = converted(
            document, format,
            Conversion(from: format, to: CBORFormat(), maximumDepth: 64, heldBytes: 16, pieceBytes: pieceBytes))
        switch (whole, pieces) {
        case (.success(let one), .success(let other)):
            precondition(read(one) == read(other), "\(name): in pieces it becomes something else")
        case (.failure, .failure): break
        case (.success, .failure(let error)):
            // What a long dictionary cannot know: an equal key further back, a uid.
            precondition(error.kind != .malformed, "\(name): refused in pieces only: \(error)")
        case (.failure(let error), .success):
            // In pieces, a uid whose dictionary is longer than what is held is the dictionary that it looks like.
            precondition(error.kind == .notRepresentable, "\(name): refused on the whole only: \(error)")
        }
    }

    private static func read(_ bytes: [UInt8]) -> WireValue? {
        try? CBORFormat().read(bytes, limits: ReadingLimits(duplicateKeys: .keepLast))
    }

    private static func converted(
        _ document: [UInt8], _ format: any WireFormat, _ conversion: Conversion
    ) -> Result<[UInt8], WireFormatError> {
        var (rest, output) = (document[...], [UInt8]())
        do {
            _ = try conversion.run(
                input: {
                    defer { rest = rest.dropFirst(11) }
                    return Array(rest.prefix(11))
                }, output: { output += $0 })
            return .success(output)
        } catch let error as WireFormatError {
            precondition(error.position != nil, "an error without a place: \(error)")
            return .failure(error)
        } catch { preconditionFailure("\(error)") }
    }
}
