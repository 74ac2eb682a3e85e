import AdapterKit

extension RouteTable {
    /// For a path that is nowhere: an endpoint beside it, where all that are beside and below belong to one adapter. Who
    /// asks there for what is not there speaks that adapter's contract, and understands its errors.
    func neighbour(_ segments: [String]) -> (any Endpoint)? {
        var place = 0
        for segment in segments {
            guard let next = nodes[place].literals[segment] else { break }
            place = next
        }
        guard place != 0 else { return nil }
        let below = endpoints(below: place)
        guard let last = below.last, let adapter = last.properties.adapter,
            below.allSatisfy({ $0.properties.adapter == adapter })
        else { return nil }
        return last
    }

    /// In the order of their paths.
    private func endpoints(below place: Int) -> [any Endpoint] {
        let node = nodes[place]
        let own = node.entries.values.map(\.endpoint)
        let children =
            node.literals.sorted { $0.key < $1.key }.map(\.value) + [node.parameter, node.remainder].compactMap { $0 }
        return own + children.flatMap { endpoints(below: $0) }
    }
}
