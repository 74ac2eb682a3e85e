/// The version of an adapter's package: a semantic version.
///
/// Source: Semantic Versioning 2.0.0, <https://semver.org>. At most 64 bytes. Two versions that differ in their build
/// metadata alone are different versions of equal precedence.
public struct AdapterVersion: Sendable, Hashable, CustomStringConvertible {
    /// As it was written.
    public let text: String
    private let numbers: [UInt64]
    private let preRelease: [Identifier]

    private enum Identifier: Sendable, Hashable {
        case number(UInt64)
        case text(String)
    }

    private static let maximumLength = 64

    /// Nil where the text is no semantic version.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let (core, build) = Self.split(text[...], at: "+")
        if let build, !Self.areIdentifiers(build) { return nil }
        let (release, preRelease) = Self.split(core, at: "-")
        let numbers = release.split(separator: ".", omittingEmptySubsequences: false).map(Self.number)
        guard numbers.count == 3, !numbers.contains(nil) else { return nil }
        if let preRelease {
            guard Self.areIdentifiers(preRelease) else { return nil }
            var identifiers: [Identifier] = []
            for part in preRelease.split(separator: ".") {
                if part.utf8.allSatisfy(Self.isDigit) {
                    guard let number = Self.number(part) else { return nil }
                    identifiers.append(.number(number))
                } else {
                    identifiers.append(.text(String(part)))
                }
            }
            self.preRelease = identifiers
        } else {
            self.preRelease = []
        }
        self.numbers = numbers.compactMap { $0 }
        self.text = text
    }

    public var description: String { text }

    /// Whether this one comes before the other in order of precedence (section 11).
    public func precedes(_ other: AdapterVersion) -> Bool {
        if numbers != other.numbers { return numbers.lexicographicallyPrecedes(other.numbers) }
        if preRelease.isEmpty || other.preRelease.isEmpty { return !preRelease.isEmpty && other.preRelease.isEmpty }
        return preRelease.lexicographicallyPrecedes(other.preRelease) { left, right in
            switch (left, right) {
            case (.number(let left), .number(let right)): left < right
            case (.number, .text): true
            case (.text, .number): false
            // By the order of ASCII, which is that of UTF-8.
            case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
            }
        }
    }

    private static func split(_ text: Substring, at mark: Character) -> (Substring, Substring?) {
        guard let place = text.firstIndex(of: mark) else { return (text, nil) }
        return (text[..<place], text[text.index(after: place)...])
    }

    /// Without leading zeros.
    private static func number(_ text: Substring) -> UInt64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit), text == "0" || !text.hasPrefix("0") else { return nil }
        return UInt64(text)
    }

    private static func areIdentifiers(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy { byte in
                    isDigit(byte) || byte == UInt8(ascii: "-") || (0x61...0x7A).contains(byte | 0x20)
                }
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
