import AdapterKit
import Foundation

/// The other system: `GET items.json` answers all articles as a JSON array.
struct ItemSource: Sendable {
    let upstream: any Upstream

    /// All rows. Nothing is taken of an answer that cannot be the list: the records stay as they are.
    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let address = upstream.url.resolving("items.json") else {
            throw PorticoError(.upstreamFailed, "The other system could not be asked.")
        }
        var asked = UpstreamRequest(.get, address, fields: ["Accept": "application/json"])
        asked.deadline = request.deadline
        let response = try await upstream.send(asked, for: request.caller)
        let body = try response.document(["application/json"], of: upstream.name)
        guard let rows = (try? JSONDecoder().decode(WireValue.self, from: Data(body)))?.arrayValue else {
            throw MirrorRefusal(.malformed, "\(address.logged) answered no JSON array")
        }
        return MirrorPage(rows.map(Self.row), age: response.age)
    }

    /// The fields by their names: what `JSONDecoder` reads has its members in no order.
    private static func row(_ item: WireValue) -> WireDictionary {
        var row = WireDictionary()
        for field in Item.entity.fields {
            if let value = item[field.name.text] { row[field.name.text] = value }
        }
        return row
    }
}
