import AdapterKit
import Foundation

/// The weather service: `GET observations?after=STATION` answers
/// `{"observations": [{"station", "region", "place", "temperature", "wind", "observed"}], "next": STATION?}`.
struct WeatherService: Sendable {
    let upstream: any Upstream

    /// One page of what the service has. Nothing is taken of an answer that is not such a document.
    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let all = upstream.url.resolving("observations") else {
            throw PorticoError(.upstreamFailed, "The weather service could not be asked.")
        }
        let page = request.page.map { all.adding(["after": $0]) } ?? all
        var asked = UpstreamRequest(.get, page, fields: ["Accept": "application/json"])
        asked.deadline = request.deadline
        let response = try await upstream.send(asked, for: request.caller)
        let body = try response.document(["application/json"], of: upstream.name)
        let document: WireValue
        do {
            document = try JSONDecoder().decode(WireValue.self, from: Data(body))
        } catch {
            throw MirrorRefusal(.malformed, "\(response.address.logged) answered no JSON document")
        }
        guard let observations = document["observations"]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "\(response.address.logged) answered a document without observations")
        }
        let next = document["next"]?.stringValue
        // A service that always names the same page has no last one.
        guard next == nil || next != request.page else {
            throw MirrorRefusal(.unexpected, "\(response.address.logged) named the page itself as the next one")
        }
        return MirrorPage(observations.map(row), next: next, age: response.age)
    }

    /// The members that are fields. What cannot be a time stays as it is, and the host reports it.
    private func row(_ observation: WireValue) -> WireDictionary {
        var row = WireDictionary()
        for field in Observation.entity.fields {
            guard let value = observation[field.name.text] else { continue }
            row[field.name.text] = field.shape == .date ? Self.date(value) : value
        }
        return row
    }

    private static func date(_ value: WireValue) -> WireValue {
        value.stringValue.flatMap { WireDate(rfc3339: $0) }.map(WireValue.date) ?? value
    }
}
