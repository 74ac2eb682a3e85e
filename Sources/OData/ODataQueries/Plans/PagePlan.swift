import AdapterKit

/// A page that is read and given on some rows at a time, of one moment.
public protocol PagePlan: Sendable {
    /// With `$count=true`: how many rows there are in all. Throws ``PorticoError``.
    func total(at snapshot: any RecordSnapshot) throws -> Int?

    /// Gives the page's rows in their order. Returns the `$skiptoken` of the next page; nil on the last. Throws
    /// ``PorticoError``, and what `receive` throws.
    func rows(at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void) throws -> String?
}

extension QueryPlan: PagePlan {}
extension CrossJoinPlan: PagePlan {}
