import AdapterKit

/// Changes that are made together, and on whose behalf.
public struct WriteTransaction: Sendable, Equatable {
    /// One change, and what must hold for the row it touches.
    public struct Step: Sendable, Equatable {
        /// The adapter whose record it is.
        public let adapter: AdapterName
        /// The change itself.
        public let change: RecordChange
        /// The row as it is must match, otherwise it is as if it was not there (`record.notFound`); nil: every row. Not
        /// asked for a row that is created.
        public let visible: Filter?
        /// The row as it is must match where there is one, otherwise `access.denied`.
        public let writableBefore: Filter?
        /// The row as it will be must match, otherwise `access.denied`.
        public let writableAfter: Filter?
        /// Whether a caller asks for it, and not the adapter on its own authority. A caller gets no id that was another's:
        /// not that of a record that another caller deleted, and none that records refer to (``Entity/references``).
        public let isForCaller: Bool
        /// The adapter's entities whose records must not go with one that the step deletes (``Entity/owners``), otherwise
        /// `access.denied` with nothing deleted.
        public let kept: Set<EntityName>

        /// Creates a step; conditions that are nil hold for every row.
        public init(
            adapter: AdapterName, change: RecordChange, visible: Filter? = nil, writableBefore: Filter? = nil,
            writableAfter: Filter? = nil, isForCaller: Bool = false, kept: Set<EntityName> = []
        ) {
            self.adapter = adapter
            self.change = change
            self.visible = visible
            self.writableBefore = writableBefore
            self.writableAfter = writableAfter
            self.isForCaller = isForCaller
            self.kept = kept
        }

        /// Throws `access.denied` for a record of an entity that is to be kept.
        public func checkRemoval(with entity: EntityName) throws(PorticoError) {
            guard kept.contains(entity) else { return }
            throw PorticoError(
                .accessDenied, "Records of \(entity) would go with it, and you may not change those.",
                target: entity.text)
        }

        /// The collection that the change concerns.
        public var collection: CollectionID { CollectionID(adapter, change.entity) }
    }

    /// Applied in this order.
    public let steps: [Step]
    /// The account name that `creator` fields get.
    public let author: String

    /// Creates a transaction of these steps.
    public init(_ steps: [Step], author: String) {
        self.steps = steps
        self.author = author
    }
}
