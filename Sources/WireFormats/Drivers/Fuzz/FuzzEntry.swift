import AdapterKit
import WireFormats

// The fuzzer of every reader and of transcoding. The first byte picks the format, the rest is the document. A crash, a
// hang, a tape that differs from the tree, or an output that its own reader refuses is a finding.
//
// libFuzzer brings its own `main`, which no SwiftPM executable links with; this is a static library, and fuzz.sh links it.

private let formats = FormatCatalogue.standard.formats
private let limits = ReadingLimits(depth: 128, values: 50_000, expandedBytes: 4 << 20)

@c(LLVMFuzzerTestOneInput)
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let format = formats[Int(start[0]) % formats.count]
    probe(format, [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1)))
    return 0
}

private func probe(_ format: any WireFormat, _ document: [UInt8]) {
    let tree = try? format.read(document, limits: limits)
    guard let tape = try? format.readTape(document, limits: limits) else {
        precondition(tree == nil, "\(format.name): a tree without a tape")
        return
    }
    precondition(tree == tape.value(), "\(format.name): tree and tape differ")
    for target in formats { rewrite(tape, in: target) }
}

private func rewrite(_ tape: Tape, in format: any WireFormat) {
    guard let written = try? format.write(tape) else { return }
    precondition(written == (try? format.write(tape.value())), "\(format.name): tape and tree are written differently")
    do { _ = try format.read(written) } catch { preconditionFailure("\(format.name) refuses its own output: \(error)") }
}
