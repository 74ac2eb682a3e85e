import AdapterKit

/// Sample records fit their entities, and no two have one key.
struct SampleProblems {
    private let samples: [SampleRecords]
    private let declaration: AdapterDeclaration

    init(_ samples: [SampleRecords], for declaration: AdapterDeclaration) {
        self.samples = samples
        self.declaration = declaration
    }

    var all: [String] {
        samples.flatMap { sample in
            guard let entity = declaration.entity(sample.entity) else {
                return ["there are samples of \(sample.entity), which is not declared"]
            }
            return shapes(sample.records, entity) + keys(sample.records, entity)
        }
    }

    private func shapes(_ records: [WireDictionary], _ entity: Entity) -> [String] {
        records.enumerated().compactMap { position, record -> String? in
            do {
                try Shape.object(entity.sampleShape).check(.dictionary(record), at: "\(entity.name)[\(position)]")
                return nil
            } catch {
                return "a sample does not fit: \(error)"
            }
        }
    }

    private func keys(_ records: [WireDictionary], _ entity: Entity) -> [String] {
        var seen: Set<RecordID> = []
        return records.compactMap { record -> String? in
            guard let id = record[entity.key.field.text].flatMap(RecordID.init(key:)) else {
                return entity.key.chooser == .caller ? "a sample of \(entity.name) has no key" : nil
            }
            return seen.insert(id).inserted ? nil : "two samples of \(entity.name) have the key \(id)"
        }
    }
}

extension Entity {
    /// A record as a caller sends it: what the server gives need not be there.
    fileprivate var sampleShape: ObjectShape {
        ObjectShape(
            name.text,
            members: fields.map { field in
                let isGiven =
                    [.creator, .createdAt, .createdPosition, .modifiedAt].contains(field.source)
                    || (field.name == key.field && key.chooser != .caller)
                return Member(
                    field.name, field.shape, isRequired: field.isRequired && !isGiven, isNullable: field.isNullable)
            })
    }
}
