import AdapterKit
import WireFormats

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// The fuzzers of the readers, of transcoding and of conversion in pieces; PORTICO_FUZZ names the one that runs. A crash, a
// hang, or a broken promise (FuzzTarget) is a finding.
//
// libFuzzer brings its own `main`, which no SwiftPM executable links with; this is a static library, and fuzz.sh links it.

private let target: FuzzTarget = {
    let name = getenv("PORTICO_FUZZ").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(name) else { fatalError("PORTICO_FUZZ names no target") }
    return target
}()

@c(LLVMFuzzerTestOneInput)
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.probe([UInt8](UnsafeBufferPointer(start: start, count: count)))
    return 0
}
