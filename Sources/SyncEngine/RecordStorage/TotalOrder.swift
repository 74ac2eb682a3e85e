import AdapterKit

extension Entity {
    /// The sort criteria that make an order total: those asked for up to the key; where it is not among them, the key
    /// in the direction of the last one. A field named twice counts once.
    ///
    /// The key's direction makes `DESC` the exact reverse of `ASC`, and lets one index serve both.
    ///
    /// Throws `request.invalid` for a field that is not there or has no order.
    public func totalOrder(_ asked: [SortKey]) throws(PorticoError) -> [SortKey] {
        guard asked.count <= Self.maximumSortKeys else {
            throw PorticoError(
                .requestLimitExceeded, "An order has at most \(Self.maximumSortKeys) fields.", target: "order")
        }
        var order: [SortKey] = []
        for criterion in asked where !order.contains(where: { $0.field == criterion.field }) {
            guard let field = field(criterion.field), field.shape.isScalar else {
                throw PorticoError(
                    .requestInvalid, "\(name) cannot be ordered by `\(criterion.field)`.", target: "order")
            }
            order.append(criterion)
            if criterion.field == key.field { return order }
        }
        return order + [SortKey(key.field, descending: order.last?.isDescending ?? false)]
    }

    public static let maximumSortKeys = 8
}
