import AdapterKit

/// Moves a part of an item's stock to another warehouse.
///
/// An operation, because two records change or none does. A client that sent two `PATCH` could stop between them.
struct Move {
    /// How often the stock is read again when another request changed it in between.
    static let maximumAttempts = 5

    static let operation = Operation(
        "move", summary: "Moves stock to another warehouse.", effect: .writes,
        input: ObjectShape(
            "Move",
            members: [
                Member("item", .string(maximumLength: 255), isRequired: true, summary: "What is moved."),
                Member("to", .string(maximumLength: 64), isRequired: true, summary: "The other warehouse."),
                Member("quantity", .integer(IntegerRange(1...Item.maximumQuantity)), isRequired: true),
            ]),
        output: .object(
            ObjectShape(
                "Moved",
                members: [
                    Member("from", Item.stockShape, isRequired: true), Member("to", Item.stockShape, isRequired: true),
                ])))

    let item: RecordID
    let warehouse: RecordID
    let quantity: Int64

    init(_ call: Call) throws {
        guard let item = RecordID(key: call["item"]) else {
            throw PorticoError(.requestInvalid, "That is no id of an item.", target: "item")
        }
        guard let warehouse = RecordID(key: call["to"]) else {
            throw PorticoError(.requestInvalid, "That is no id of a warehouse.", target: "to")
        }
        self.item = item
        self.warehouse = warehouse
        // The host has checked that it is there, and its range.
        quantity = call["quantity"].int64Value ?? 0
    }

    /// `records` are the caller's view: a warehouse or an item that the caller may not see is not found.
    func run(on records: any RecordStore) async throws -> WireValue {
        for _ in 0..<Self.maximumAttempts {
            let (from, to) = try await changes(on: records)
            if let moved = try await write([from, to], on: records) { return moved }
        }
        throw PorticoError(.recordConflict, "The stock keeps changing; try again.", retryAfter: 1)
    }

    private func changes(on records: any RecordStore) async throws -> (RecordChange, RecordChange) {
        guard let source = try await records.record(item, in: Item.entityName) else {
            throw PorticoError(.recordNotFound, "There is no such item.", target: "item")
        }
        guard source[Item.Fields.warehouse].stringValue != warehouse.text else {
            throw PorticoError(.requestInvalid, "It is there already.", target: "to")
        }
        guard try await records.record(warehouse, in: Warehouse.entityName) != nil else {
            throw PorticoError(.recordNotFound, "There is no such warehouse.", target: "to")
        }
        let left = (source[Item.Fields.quantity].int64Value ?? 0) - quantity
        guard left >= 0 else {
            throw PorticoError(.requestInvalid, "There are not as many.", target: "quantity")
        }
        let taken = RecordChange(
            Item.entityName, .update(source.id, [Item.Fields.quantity.text: .int64(left)]),
            if: .revision(source.revision))
        return (taken, try await addition(of: source, on: records))
    }

    /// To the same article in the other warehouse, or as a new item there.
    private func addition(of source: Record, on records: any RecordStore) async throws -> RecordChange {
        let same = Filter.all([
            .compare(Item.Fields.warehouse, .equal, .string(warehouse.text)),
            .compare(Item.Fields.article, .equal, source[Item.Fields.article]),
        ])
        guard let target = try await records.query(Query(same, limit: 1), in: Item.entityName).records.first else {
            return RecordChange(
                Item.entityName,
                .create(
                    nil,
                    [
                        Item.Fields.warehouse.text: .string(warehouse.text),
                        Item.Fields.article.text: source[Item.Fields.article],
                        Item.Fields.name.text: source[Item.Fields.name],
                        Item.Fields.quantity.text: .int64(quantity),
                    ]))
        }
        let sum = (target[Item.Fields.quantity].int64Value ?? 0) + quantity
        guard sum <= Item.maximumQuantity else {
            throw PorticoError(.requestLimitExceeded, "The other warehouse cannot count as many.", target: "quantity")
        }
        return RecordChange(
            Item.entityName, .update(target.id, [Item.Fields.quantity.text: .int64(sum)]),
            if: .revision(target.revision))
    }

    /// Nil where one of the two has changed, or has come to be, since they were read.
    private func write(_ changes: [RecordChange], on records: any RecordStore) async throws -> WireValue? {
        do {
            let stored = try await records.apply(changes).records.compactMap { $0 }
            guard let from = stored.first, let to = stored.last else { return nil }
            return ["from": Item.stock(of: from), "to": Item.stock(of: to)]
        } catch let error as PorticoError where [.preconditionFailed, .recordExists].contains(error.code) {
            return nil
        }
    }
}

extension Item {
    fileprivate static let stockShape = Shape.object(
        ObjectShape(
            "Stock",
            members: [
                Member("item", .string, isRequired: true), Member("warehouse", .string, isRequired: true),
                Member("quantity", .integer, isRequired: true),
            ]))

    fileprivate static func stock(of record: Record) -> WireValue {
        ["item": .string(record.id.text), "warehouse": record[Fields.warehouse], "quantity": record[Fields.quantity]]
    }
}
