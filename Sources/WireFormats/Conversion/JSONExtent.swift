/// Finds where a JSON value ends without reading it: strings and brackets are enough for that. What is wrong inside is
/// found when the piece is read.
struct JSONExtent: NestedExtent {
    private var origin: Int
    private var containers = OpenContainers()
    private var isInString = false
    private var isEscaped = false
    private(set) var scanned = 0

    init(from origin: Int) { self.origin = origin }

    /// The length of the value that starts at `start`; nil where more bytes are needed. Scalars other than strings end
    /// before what follows them, so the end of the stream ends them too.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            while start + scanned < bytes.count {
                let byte = bytes[start + scanned]
                if !isInString, containers.depth == 0, scanned > 0, Self.endsScalar(byte) { return scanned }
                scanned += 1
                if step(byte) { return scanned }
            }
            return isAtEnd ? scanned : nil
        }
    }

    /// Takes one byte; tells whether the value ends with it.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
                return containers.depth == 0
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "["), UInt8(ascii: "{"): containers.open(at: origin + scanned - 1)
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            containers.close()
            return containers.depth == 0
        default: break
        }
        return false
    }

    mutating func resume(at origin: Int) -> Bool {
        guard containers.enter(at: origin) else { return false }
        scanned -= origin - self.origin
        self.origin = origin
        return true
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }
}
