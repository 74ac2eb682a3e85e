import AdapterKit
import ODataEngine
import RecordStorage

/// Random changes of students, schools and friendships; the same for the same seed.
struct RandomSchool {
    private var random: Random
    private let school: School

    init(_ school: School, seed: UInt64) {
        self.school = school
        random = Random(state: seed)
    }

    /// Makes so many changes, some of which change nothing because there is nothing to change.
    mutating func change(_ count: Int) async throws {
        for _ in 0..<count {
            do { _ = try await school.records.apply([change()]) } catch let error as PorticoError {
                guard error.code == .recordNotFound || error.code == .recordExists else { throw error }
            }
        }
    }

    private mutating func change() -> RecordChange {
        switch random.below(10) {
        case 0..<6: student()
        case 6..<8: friendship()
        default: other()
        }
    }

    private mutating func student() -> RecordChange {
        let entity = school.tables["Students"]!.entity
        let id = 1 + random.below(60)
        let key = RecordID(unchecked: "\(id)")
        switch random.below(8) {
        case 0: return RecordChange(entity, .delete(key))
        case 1, 2:
            var fields = studentFields()
            fields["ID"] = .int64(Int64(id))
            fields["type__"] = "S.Student"
            return RecordChange(entity, .create(nil, fields))
        case 3: return RecordChange(entity, .update(key, ["SchoolID": place(8)]))
        default: return RecordChange(entity, .update(key, studentFields()))
        }
    }

    private mutating func studentFields() -> WireDictionary {
        [
            "Name": .string(["Ann", "Bob", "Ann Bob", "Zoe"][random.below(4)]), "SchoolID": place(8),
            "Active": .bool(random.below(3) > 0), "Height": .double(Double(random.below(5)) / 2),
        ]
    }

    private mutating func other() -> RecordChange {
        let entity = school.tables["Schools"]!.entity
        let id = 1 + random.below(7)
        let key = RecordID(unchecked: "\(id)")
        switch random.below(6) {
        case 0: return RecordChange(entity, .delete(key))
        case 1, 2:
            return RecordChange(entity, .create(nil, ["ID": .int64(Int64(id)), "Name": "new", "Parent": place(7)]))
        default:
            return RecordChange(entity, .update(key, ["Name": .string("n\(random.below(9))"), "Parent": place(7)]))
        }
    }

    /// Links may lead to students that are not there.
    private mutating func friendship() -> RecordChange {
        let links = school.tables.links[0]
        let (from, to) = (1 + random.below(60), 1 + random.below(20))
        let pair = LinkTable.pair(RecordID(unchecked: "\(from)"), RecordID(unchecked: "\(to)"))
        if random.below(2) == 0 { return RecordChange(links.entity, .delete(RecordID(unchecked: pair))) }
        return RecordChange(
            links.entity,
            .create(nil, ["pair": .string(pair), "fromKey": .int64(Int64(from)), "toKey": .int64(Int64(to))]))
    }

    private mutating func place(_ count: Int) -> WireValue {
        let number = random.below(count)
        return number == 0 ? .null : .int64(Int64(number))
    }

    mutating func below(_ bound: Int) -> Int { random.below(bound) }
}

private struct Random {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}
