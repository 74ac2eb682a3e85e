import AdapterKit
import WireFormats

/// What one fuzzer feeds its input to, and what must hold then.
enum FuzzTarget {
    /// A reader: tape and tree refuse the same documents and are the same value.
    case read(any WireFormat)
    /// From one format into another one, both picked by the first byte: tape and tree are written alike, and what was
    /// written can be read.
    case transcode
    /// `portico convert`, with keys that stand twice: what it refuses has a place, what it writes can be read.
    case convert

    private static let formats = FormatCatalogue.conversion.formats
    private static let limits = ReadingLimits(depth: 128, values: 50_000, expandedBytes: 4 << 20)

    init?(_ name: String) {
        switch name {
        case "transcode": self = .transcode
        case "convert": self = .convert
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
            let (source, target) = (
                Int(choice) % Self.formats.count, Int(choice) / Self.formats.count % Self.formats.count
            )
            Self.convert(Array(input.dropFirst()), Self.formats[source], Self.formats[target])
        }
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

    private static func convert(_ document: [UInt8], _ source: any WireFormat, _ target: any WireFormat) {
        let conversion = Conversion(from: source, to: target, maximumDepth: 64, maximumBytes: 1 << 20)
        do throws(WireFormatError) {
            let written = try conversion.run(document).output
            do { _ = try target.read(written) } catch {
                preconditionFailure("\(target.name) refuses its own output: \(error)")
            }
        } catch {
            precondition(error.position != nil, "an error without a place: \(error)")
        }
    }
}
