import WireFormats

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `portico convert` without the gateway around it: standard input to standard output.
@main
enum WireConvert {
    private static let chunkSize = 1 << 16

    static func main() {
        guard let arguments = WireConvertArguments(CommandLine.arguments.dropFirst()) else {
            say("usage: wire-convert --from FORMAT [--to FORMAT] [--max-depth N] [--max-bytes N]")
            exit(2)
        }
        do {
            let report = try arguments.conversion.run(input: read, output: write)
            if report.droppedDuplicates > 0 {
                say("warning: \(report.droppedDuplicates) members were dropped for a later one of the same key")
            }
        } catch {
            say("error: \(error)")
            exit(1)
        }
    }

    private static func read() throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
            let got = Self.retrying { systemRead(0, buffer.baseAddress, buffer.count) }
            guard got >= 0 else { throw InputOutputError(code: errno) }
            count = got
        }
    }

    private static func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { bytes in
                Self.retrying { systemWrite(1, bytes.baseAddress, bytes.count) }
            }
            guard written > 0 else { throw InputOutputError(code: errno) }
            rest = rest.dropFirst(written)
        }
    }

    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = line.withUnsafeBytes { systemWrite(2, $0.baseAddress, $0.count) }
    }
}

struct InputOutputError: Error, CustomStringConvertible {
    let code: Int32
    var description: String { "input or output failed (\(String(cString: strerror(code))))" }
}

private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}

private func systemWrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(file, buffer, count)
}
