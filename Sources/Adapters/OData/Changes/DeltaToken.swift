import AdapterKit
import Foundation

/// `$deltatoken`: from where changes are asked for, of which query, for whom. Nothing of it is kept by the server.
///
/// Base64url of the history's name, the position, and two numbers: what the reader sees, and the query. Whoever changes
/// it asks for changes since another place, of rows that they may see anyway.
struct DeltaToken: Equatable {
    let mark: ChangeCursor
    let query: UInt64

    init(_ mark: ChangeCursor, of address: PlainAddress) {
        self.mark = mark
        query = Self.number(of: address)
    }

    init?(_ text: String) {
        guard text.utf8.count <= 512, let bytes = Base64URL.decode(lenient: text) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\u{1F}", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == Self.version, let position = Int64(parts[2]), position >= 0,
            let scopeHash = UInt64(parts[3], radix: 16), let query = UInt64(parts[4], radix: 16)
        else { return nil }
        mark = ChangeCursor(history: String(parts[1]), position: Revision(position), scopeHash: scopeHash)
        self.query = query
    }

    private static let version = "1"

    var text: String {
        let parts = [
            Self.version, mark.history, String(mark.position.number), String(mark.scopeHash, radix: 16),
            String(query, radix: 16),
        ]
        return Base64URL.encode(Array(parts.joined(separator: "\u{1F}").utf8))
    }

    func isOf(_ address: PlainAddress) -> Bool { query == Self.number(of: address) }

    /// The same for the same query: how the answer is written and counted is no part of it. FNV-1a.
    private static func number(of address: PlainAddress) -> UInt64 {
        let apart = ["format", "count", "orderby", "inlinecount"]
        let options = address.options.filter { !apart.contains(PlainAddress.name($0)) }
            .map { $0.removingPercentEncoding ?? $0 }.sorted()
        var path = address.path.removingPercentEncoding ?? address.path
        // Cannot trap: it ends with that.
        if path.hasSuffix("/$count") { path.removeLast("/$count".count) }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in ([path] + options).joined(separator: "\u{1F}").utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return hash
    }
}
