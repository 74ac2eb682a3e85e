import AdapterKit
import Crypto

/// SHA-256 of bytes that come piece by piece, as 64 hexadecimal digits in lower case.
public struct SHA256Text {
    private var hash = SHA256()

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    public func finish() -> String { Hexadecimal.text(hash.finalize()) }

    static func isDigest(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
