import AdapterKit
import Synchronization

/// The hosts that a listener answers for.
///
/// A page of a stranger's name whose address was changed to this machine's ("DNS rebinding") asks by its own name. Browsers
/// let it read what it gets, so such a request is refused before anything is looked up.
public struct KnownHosts: Sendable {
    /// Which other names are answered.
    public enum Others: Sendable {
        case none
        /// Hosts that no stranger can have: addresses, names without a dot and names below `localhost`.
        case unregistrable
    }

    /// In lower case, an address of IPv6 in brackets, with a port or without.
    private let names: Set<String>
    private let others: Others
    /// The port of ``loopback`` names; nil: whichever.
    private let port: ListeningPort?
    private let isSecure: Bool

    private static let loopback: Set<String> = ["127.0.0.1", "localhost", "[::1]"]

    /// `names`: beside those of the loopback interface, each at whichever port unless it names one. `port`: of the loopback
    /// names; nil: whichever.
    public init(names: [String], port: ListeningPort?, isSecure: Bool, others: Others) {
        self.names = Set(names.map { $0.lowercased() }).subtracting(Self.loopback)
        (self.port, self.isSecure, self.others) = (port, isSecure, others)
    }

    /// Throws `request.misdirected` for an authority that is not known.
    func require(_ authority: String) throws(PorticoError) {
        guard !answers(authority) else { return }
        throw PorticoError(.requestMisdirected, "This server does not answer for this host.")
    }

    func answers(_ authority: String) -> Bool {
        guard let (host, given) = Self.parts(authority) else { return others == .unregistrable }
        if names.contains(host) || given.map({ names.contains("\(host):\($0)") }) ?? false { return true }
        if Self.loopback.contains(host), port.map({ $0.value == given ?? (isSecure ? 443 : 80) }) ?? true {
            return true
        }
        return others == .unregistrable && Self.isUnregistrable(host)
    }

    /// Nil where there is no host, as in HTTP/1.0, which no browser speaks.
    private static func parts(_ authority: String) -> (host: String, port: Int?)? {
        let text = authority.lowercased()
        let end =
            text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
        let host = text[..<(end ?? text.endIndex)]
        guard !host.isEmpty else { return nil }
        return (String(host), end.flatMap { Int(text[$0...].dropFirst()) })
    }

    private static func isUnregistrable(_ host: String) -> Bool {
        if host.hasPrefix("[") || host.hasSuffix(".localhost") || !host.utf8.contains(UInt8(ascii: ".")) { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { Int($0).map { (0...255).contains($0) } ?? false }
    }
}

/// The port that a listener got, once it listens.
public final class ListeningPort: Sendable {
    private let port = Atomic<Int>(0)

    public init() {}

    /// 0: it does not listen yet.
    public var value: Int { port.load(ordering: .relaxed) }

    public func set(_ value: Int) { port.store(value, ordering: .relaxed) }
}
